import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isJsonObject } from '#lib/json';
import type { CronChanger, CronMaker, CronService } from '../cron/cron-service.js';
import { parseCronSearch, type CronSearchBody } from '../cron/requested-cron.js';
import { countCrons, searchCrons } from '../store/statement/crons.js';
import type { CronSearch } from '../store/row/cron-row.js';
import type { CallerScope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { callerFields } from './caller-fields.js';
import { authorize, authorizeRun, newThreadScopeOf, scopeOf } from './caller-scope.js';
import { pageOf, pathId, threadIdOf } from './request-parts.js';
import { access } from './route-access.js';
import { paginate, selected } from './search-answer.js';

export interface CronRouteParts {
  readonly sql: Sql;
  readonly crons: CronService;
}

function searchOf(body: CronSearchBody): CronSearch {
  return {
    assistantId: body.assistant_id ?? undefined,
    threadId: body.thread_id ?? undefined,
    enabled: body.enabled ?? undefined,
    metadata: body.metadata ?? undefined,
  };
}

/**
 * Authorizes a run on a thread. Changes that a handler makes to this run do not reach the runs of the cron:
 * their handler is `crons:create`.
 */
function authorizeThread(request: FastifyRequest, threadId: string): Promise<CallerScope> {
  const body = isJsonObject(request.body) ? structuredClone(request.body) : {};
  return authorizeRun(request, body, threadId);
}

function changerOf(request: FastifyRequest): CronChanger {
  return {
    scope: scopeOf(request),
    fields: callerFields(request),
    threadScope: (threadId) => authorizeThread(request, threadId),
    assistantScope: (id) => authorize(request, 'assistants:read', { assistant_id: id }),
    newThreadScope: newThreadScopeOf(request),
  };
}

/** Routes about crons: runs on a schedule. */
export function registerCronRoutes(app: FastifyInstance, { sql, crons }: CronRouteParts): void {
  const create = async (request: FastifyRequest): Promise<unknown> => {
    const threadId = threadIdOf(request);
    const maker: CronMaker = {
      scope: scopeOf(request),
      threadId,
      fields: callerFields(request),
      threadScope: threadId === undefined ? undefined : await authorizeThread(request, threadId),
      assistantScope: (id) => authorize(request, 'assistants:read', { assistant_id: id }),
      newThreadScope: newThreadScopeOf(request),
    };
    return crons.create(maker, request.body);
  };
  app.post('/runs/crons', access('crons:create'), create);
  app.post('/threads/:thread_id/runs/crons', access('crons:create'), create);
  app.post('/runs/crons/search', access('crons:search'), async (request, reply) => {
    const body = parseCronSearch(request.body);
    const [wanted, page] = [searchOf(body), pageOf(body)];
    const order = { sortBy: body.sort_by ?? 'created_at', isAscending: body.sort_order === 'asc' } as const;
    const [found, total] = await Promise.all([
      searchCrons(scopeOf(request), sql, wanted, { ...page, ...order }),
      countCrons(scopeOf(request), sql, wanted),
    ]);
    paginate(reply, page, found.length, total);
    return selected(found, body.select);
  });
  app.post('/runs/crons/count', access('crons:search'), async (request) =>
    countCrons(scopeOf(request), sql, searchOf(parseCronSearch(request.body))),
  );
  app.get('/runs/crons/:cron_id', access('crons:read'), async (request) =>
    crons.get(scopeOf(request), pathId(request, 'cron_id')),
  );
  app.patch('/runs/crons/:cron_id', access('crons:update'), async (request) =>
    crons.change(changerOf(request), pathId(request, 'cron_id'), request.body),
  );
  app.delete('/runs/crons/:cron_id', access('crons:delete'), async (request, reply) => {
    await crons.remove(scopeOf(request), pathId(request, 'cron_id'));
    return reply.code(204).send();
  });
}
