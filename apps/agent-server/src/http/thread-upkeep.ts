import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import { document, parseBody, uuid7 } from '../run/requested-run.js';
import { patchCheckpoint } from '../store/checkpoint/checkpoints.js';
import {
  requireAdmitted,
  copyThread,
  lockThread,
  pruneThread,
  removeThread,
} from '../store/statement/change-thread.js';
import { hasActiveRun } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { findThreadHead, getThreadHead, listThreadIds, measureThread } from '../store/statement/threads.js';
import { authorize, scopeOf } from './caller-scope.js';
import { pathId } from './request-parts.js';
import { access } from './route-access.js';
import { asJson } from './search-answer.js';

const MEGABYTE = 1024 * 1024;
/** Limit per thread: its copy takes disk of the shared database, and a hundred bytes request it. */
const MAX_COPY_BYTES = 256 * MEGABYTE;
/** Limit per caller. */
const MAX_BYTES_AN_HOUR = 1024 * MEGABYTE;
const HOUR_MS = 3_600_000;
/** Callers that are remembered; those whose hour is over are forgotten first. */
const MAX_CALLERS = 10_000;

interface Copied {
  /** Remaining bytes of the caller's copies: they decay steadily to zero within an hour. */
  readonly bytes: number;
  readonly atMs: number;
}

/**
 * Limits the copies of threads: one thread is bounded in size, and each caller in bytes an hour, as this
 * server counts them.
 */
export class CopyAllowance {
  readonly #copied = new Map<string | undefined, Copied>();

  constructor(
    private readonly clock: Clock,
    private readonly limits = { copyBytes: MAX_COPY_BYTES, bytesAnHour: MAX_BYTES_AN_HOUR },
  ) {}

  /**
   * Counts a copy before it is made.
   * @param caller owner of the copy; undefined for an unauthenticated request
   * @throws PublicError `too_large`, `too_many`
   */
  take(caller: string | undefined, threadId: string, bytes: number): void {
    const { copyBytes, bytesAnHour } = this.limits;
    if (bytes > copyBytes)
      throw new PublicError(
        'too_large',
        `Copying thread ${threadId}: its states take ${shown(bytes)}, and ${shown(copyBytes)} is the most; ` +
          'leave it its last states by POST /threads/prune with the strategy keep_latest, or create a thread with its values',
      );
    const nowMs = this.clock.monotonicMs();
    const left = this.#left(caller, nowMs);
    if (left > 0 && left + bytes > bytesAnHour) {
      const waitMs = ((left + bytes - bytesAnHour) / bytesAnHour) * HOUR_MS;
      throw new PublicError(
        'too_many',
        `Copying thread ${threadId}: with its ${shown(bytes)} the copies of the last hour would take more than ${shown(bytesAnHour)}; retry later`,
        [],
        { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
      );
    }
    this.#copied.delete(caller); // the latest last
    this.#copied.set(caller, { bytes: left + bytes, atMs: nowMs });
    if (this.#copied.size > MAX_CALLERS) this.#forget(nowMs);
  }

  #left(caller: string | undefined, nowMs: number): number {
    const { bytes, atMs } = this.#copied.get(caller) ?? { bytes: 0, atMs: nowMs };
    return Math.max(0, bytes - ((nowMs - atMs) / HOUR_MS) * this.limits.bytesAnHour);
  }

  #forget(nowMs: number): void {
    for (const caller of this.#copied.keys())
      if (this.#left(caller, nowMs) === 0) this.#copied.delete(caller);
    for (const caller of this.#copied.keys()) {
      if (this.#copied.size <= MAX_CALLERS) return;
      this.#copied.delete(caller);
    }
  }
}

function shown(bytes: number): string {
  return `${Math.ceil(bytes / MEGABYTE)} MB`;
}

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
    const found = await findThreadHead(scope, sql, pathId(request, 'thread_id'));
    // the status that clients of LangGraph know for it
    if (!found) throw new PublicError('conflict', `Thread not found: ${pathId(request, 'thread_id')}`);
    const { thread_id: threadId, metadata } = found;
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
