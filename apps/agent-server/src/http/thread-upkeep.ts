import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import { document, parseBody } from '../run/request-shapes.js';
import { uuid7 } from '../run/uuid7.js';
import { patchCheckpoint } from '../store/checkpoint/patch-checkpoint.js';
import { hasActiveRun } from '../store/run/has-active-run.js';
import { requireAdmitted } from '../store/metadata/require-admitted.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { copyThread } from '../store/thread/copy-thread.js';
import { findThreadHead } from '../store/thread/find-thread-head.js';
import { getThreadHead } from '../store/thread/get-thread-head.js';
import { listThreadIds } from '../store/thread/list-thread-ids.js';
import { lockThread } from '../store/thread/lock-thread.js';
import { measureThread } from '../store/thread/measure-thread.js';
import { pruneThread } from '../store/thread/prune-thread.js';
import { removeThread } from '../store/thread/remove-thread.js';
import { authorize, scopeOf } from './caller-scope.js';
import { CopyAllowance } from './copy-allowance.js';
import { pathId } from './request-parts.js';
import { access } from './route-access.js';
import { asJson } from './search-answer.js';

/** Threads of one request. */
const MAX_PRUNED = 1_000;

const pruning = z
  .object({
    thread_ids: z.array(z.string().regex(UUID_PATTERN, 'must be a uuid')).max(MAX_PRUNED).nullish(),
    metadata: document.nullish(),
    strategy: z.enum(['delete', 'keep_latest']).nullish(),
  })
  .refine(
    ({ thread_ids, metadata }) => Boolean(thread_ids) !== Boolean(metadata),
    'needs either thread_ids or metadata',
  )
  .refine(
    ({ metadata, strategy }) => !metadata || (Object.keys(metadata).length > 0 && strategy !== 'keep_latest'),
    'metadata must name something, and goes with the strategy delete alone',
  );
const statePatch = z.object({ metadata: document });

/** Answers true when the thread existed; a missing one counts as pruned. */
async function prune(scope: Scope, sql: Sql, threadId: string, keepsLatest: boolean): Promise<boolean> {
  if (!(await findThreadHead(scope, sql, threadId))) return false;
  if (!keepsLatest) {
    await removeThread(scope, sql, threadId);
    return true;
  }
  const keepLatest = async (inside: Sql): Promise<boolean> => {
    await lockThread(scope, inside, threadId);
    if (await hasActiveRun(scope, inside, threadId))
      throw new PublicError(
        'conflict',
        `Thread ${threadId} has an active run; cancel it or wait for its end`,
      );
    await pruneThread(scope, inside, threadId);
    return true;
  };
  return sql.transaction(scope, keepLatest, { locks: threadId });
}

/** Routes that copy threads, make them smaller, and mark their states. */
export function registerThreadUpkeep(
  app: FastifyInstance,
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
): void {
  const allowance = new CopyAllowance(clock);
  app.post('/threads/:thread_id/copy', access('threads:read'), async (request, reply) => {
    const [scope, copyId] = [scopeOf(request), uuid7(clock.now())];
    const { thread_id: threadId, metadata } = await getThreadHead(scope, sql, pathId(request, 'thread_id'));
    const copy = { thread_id: copyId, metadata: { ...metadata } };
    const toCreate = await authorize(request, 'threads:create', copy);
    await requireAdmitted(toCreate, sql, copy.metadata, `Copy of thread ${threadId}`);
    allowance.take(request.caller?.identity, threadId, await measureThread(scope, sql, threadId));
    return asJson(reply, await copyThread(scope, sql, threadId, copy));
  });
  app.post('/threads/prune', access('any'), async (request) => {
    const { thread_ids, metadata, strategy } = parseBody(pruning, request.body);
    const found = metadata
      ? await listThreadIds(await authorize(request, 'threads:delete', {}), sql, { metadata }, MAX_PRUNED)
      : [];
    const ids = new Set((thread_ids ?? found).map((id) => id.toLowerCase()));
    const scopes: [string, Scope][] = []; // all scopes are determined before the first is pruned
    for (const id of ids) scopes.push([id, await authorize(request, 'threads:delete', { thread_id: id })]);
    let pruned = 0;
    for (const [id, scope] of scopes)
      if (await prune(scope, sql, id, strategy === 'keep_latest')) pruned += 1;
    return { pruned_count: pruned };
  });
  app.patch('/threads/:thread_id/state', access('threads:update'), async (request) => {
    const { metadata } = parseBody(statePatch, request.body);
    const [scope, threadId] = [scopeOf(request), pathId(request, 'thread_id')];
    const { thread_id } = await getThreadHead(scope, sql, threadId);
    if (!(await patchCheckpoint(scope, sql, thread_id, metadata)))
      throw new PublicError('not_found', `Thread ${threadId} has no checkpoint yet`);
    return { thread_id };
  });
}

/** Shapes of requests, for the description of the routes. */
export const UPKEEP_SHAPES = { pruning, statePatch };
