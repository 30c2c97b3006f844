import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import { parseBody } from '../run/requested-run.js';
import type { RunOutputs } from '../run/run-outputs.js';
import type { RunService } from '../run/run-service.js';
import type { CancelAction } from '../store/row/run-row.js';
import { type ActiveRun, type ActiveRunSearch, listActiveRuns } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { scopeOf } from './caller-scope.js';
import { isTrue, pathId, queryOf, threadIdOf } from './request-parts.js';
import { access } from './route-access.js';

export interface CancelParts {
  readonly sql: Sql;
  readonly runs: Pick<RunService, 'cancel' | 'get'>;
  readonly outputs: Pick<RunOutputs, 'wait'>;
}

const uuid = z.string().regex(UUID_PATTERN, 'must be a uuid').toLowerCase();
const cancellation = z
  .object({
    thread_id: uuid.nullish(),
    run_ids: z.array(uuid).max(1_000).nullish(),
    status: z.enum(['pending', 'running', 'all']).nullish(),
  })
  .refine(({ run_ids, status }) => Boolean(run_ids) !== Boolean(status), 'needs either run_ids or status')
  .refine(
    ({ run_ids, thread_id }) => !run_ids || Boolean(thread_id),
    'run_ids need the thread_id of their thread',
  );

/** @throws PublicError `bad_request` */
function actionOf(request: FastifyRequest): CancelAction {
  const { action = 'interrupt' } = queryOf(request);
  if (action !== 'interrupt' && action !== 'rollback')
    throw new PublicError('bad_request', 'action must be interrupt or rollback');
  return action;
}

const MAX_REASON_CHARS = 1_000;

/** @throws PublicError `bad_request` */
function reasonOf(request: FastifyRequest): string | undefined {
  const { cancel_reason: reason } = queryOf(request);
  if (reason === undefined || (typeof reason === 'string' && reason.length <= MAX_REASON_CHARS))
    return reason?.replaceAll('\0', '') || undefined;
  throw new PublicError(
    'bad_request',
    `cancel_reason must be one text of at most ${MAX_REASON_CHARS} characters`,
  );
}

/** Settings of a cancellation, from its query. */
interface Cancellation {
  readonly action: CancelAction;
  readonly reason: string | undefined;
}

/** A run that existed a moment ago and is gone counts as cancelled. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof PublicError) || error.code !== 'not_found') throw error;
}

/** Cancels all runs that are active by now, however many. */
async function cancelActive(
  scope: Scope,
  search: Pick<ActiveRunSearch, 'status' | 'threadId'>,
  { action, reason }: Cancellation,
  { runs, sql }: Pick<CancelParts, 'runs' | 'sql'>,
): Promise<void> {
  let after: ActiveRun | undefined;
  do {
    const portion = await listActiveRuns(scope, sql, { ...search, after });
    for (const { runId, threadId } of portion)
      await runs.cancel(scope, runId, threadId, action, reason).catch(ignoreGone);
    after = portion.at(-1);
  } while (after);
}

async function cancelMany(request: FastifyRequest, { runs, sql }: CancelParts): Promise<void> {
  const { thread_id: threadId, run_ids: runIds, status } = parseBody(cancellation, request.body);
  const scope = scopeOf(request);
  const how = { action: actionOf(request), reason: reasonOf(request) };
  for (const runId of runIds ?? []) await runs.cancel(scope, runId, threadId ?? '', how.action, how.reason);
  for (const one of status === 'all' ? (['pending', 'running'] as const) : status ? [status] : [])
    await cancelActive(scope, { status: one, threadId: threadId ?? undefined }, how, { runs, sql });
}

async function cancelOne(
  request: FastifyRequest,
  reply: FastifyReply,
  { runs, outputs }: CancelParts,
): Promise<unknown> {
  const runId = pathId(request, 'run_id');
  const [action, reason] = [actionOf(request), reasonOf(request)];
  const scope = scopeOf(request);
  const threadId = threadIdOf(request) ?? (await runs.get(scope, runId)).threadId;
  const shouldWait = isTrue(queryOf(request)['wait']);
  // Waiting begins before the row of the run can be removed
  const waiting = shouldWait ? await outputs.wait(scope, runId, threadId) : undefined;
  await runs.cancel(scope, runId, threadId, action, reason);
  await waiting?.ended;
  return reply.code(shouldWait ? 204 : 202).send(shouldWait ? undefined : {});
}

/** Routes that end runs before their time: one, named ones of a thread, or all that are active. */
export function registerCancelRoutes(app: FastifyInstance, parts: CancelParts): void {
  for (const prefix of ['', '/threads/:thread_id'])
    app.post(`${prefix}/runs/:run_id/cancel`, access('threads:update'), (request, reply) =>
      cancelOne(request, reply, parts),
    );
  app.post('/runs/cancel', access('threads:update'), async (request, reply) => {
    await cancelMany(request, parts);
    return reply.code(204).send();
  });
}

/** Shapes of requests, for the description of the routes. */
export const CANCEL_SHAPES = { cancellation };
