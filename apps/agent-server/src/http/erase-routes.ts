import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PublicError } from '#lib/errors';
import type { JsonObject, MutableJsonObject } from '#lib/json';
import { MAX_GIVEN_LABELS, requireLabels } from '../memory/item-limits.js';
import { document, parseBody, parseInput, text } from '../run/requested-run.js';
import { countCrons, removeCrons } from '../store/statement/crons.js';
import { eraseRunTrace, eraseThreadTraces } from '../store/statement/trace-erasures.js';
import { countItems, removeItems } from '../store/statement/items.js';
import { listTemporaryRuns, removeRun, removeTemporaryRun } from '../store/statement/runs.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { countThreads, findThreadHead, listThreadIds } from '../store/statement/threads.js';
import { lockThread, removeThread, type ThreadWriter } from '../store/statement/change-thread.js';
import { removeWebhook } from '../store/statement/webhooks.js';
import { authorize } from './caller-scope.js';
import { access } from './route-access.js';

/** Limits per request; a client with more asks again. */
const MAX_THREADS = 1_000;
const MAX_ITEMS = 10_000;
const MAX_NAMESPACES = 100;

const prefixShape = z.array(text).min(1).max(MAX_GIVEN_LABELS);
const erasing = z.object({
  metadata: document.refine((given) => Object.keys(given).length > 0, 'must name something'),
  namespaces: z.array(prefixShape).max(MAX_NAMESPACES).nullish(),
  dry_run: z.boolean().nullish(),
});
const deletion = z.object({ traces: z.enum(['keep', 'delete']).optional() });

export interface EraseParts {
  readonly sql: Sql;
  readonly threads: ThreadWriter;
  /** Deletes traces at the platform; undefined when this server belongs to none. */
  readonly traces: { wake(): void } | undefined;
}

/**
 * Returns true when a request deletes traces too.
 * @throws PublicError `invalid` without a platform that deletes them
 */
function erasesTraces(request: FastifyRequest, { traces }: EraseParts): boolean {
  if (parseInput(deletion, request.query, 'query').traces !== 'delete') return false;
  if (traces) return true;
  const msg = 'this server belongs to no platform that keeps traces; leave it out';
  throw new PublicError('invalid', `traces: ${msg}`, [
    { loc: ['query', 'traces'], msg, type: 'value_error' },
  ]);
}

/** Removes a thread as its request says. @throws PublicError `not_found`, `invalid` */
export async function eraseThread(
  request: FastifyRequest,
  parts: EraseParts,
  scope: Scope,
  threadId: string,
): Promise<void> {
  if (!erasesTraces(request, parts)) return parts.threads.remove(scope, threadId);
  await removeWithTraces(parts.sql, scope, threadId);
  parts.traces?.wake();
}

/**
 * Removes a run that has ended, as its request says.
 * @throws PublicError `conflict` for one that has not, `invalid`
 */
export async function eraseRun(
  request: FastifyRequest,
  parts: EraseParts,
  scope: Scope,
  { runId, threadId }: { readonly runId: string; readonly threadId: string },
): Promise<void> {
  const { sql, traces } = parts;
  const erases = erasesTraces(request, parts);
  const remove = async (inside: Sql): Promise<void> => {
    if (erases) {
      await eraseRunTrace(scope, inside, runId);
      await removeWebhook(scope, inside, runId);
    }
    if (!(await removeRun(scope, inside, runId, threadId)))
      throw new PublicError('conflict', `Run ${runId} is active; cancel it first`);
  };
  await sql.transaction(scope, remove, { locks: threadId });
  if (erases) traces?.wake();
}

async function removeWithTraces(sql: Sql, scope: Scope, threadId: string): Promise<void> {
  const remove = async (inside: Sql): Promise<void> => {
    await lockThread(scope, inside, threadId);
    await eraseThreadTraces(scope, inside, threadId);
    await removeThread(scope, inside, threadId);
  };
  await sql.transaction(scope, remove, { locks: threadId });
}

/** Counts of what an erasure reaches, or reached. */
interface Reached {
  readonly threads: number;
  readonly crons: number;
  /** Runs without a thread; those of threads go with them. */
  readonly stateless_runs: number;
  readonly items: number;
}

/** Scopes in which the caller may erase: every right is checked before anything is erased. */
interface Rights {
  readonly threads: Scope;
  readonly crons: Scope;
  readonly namespaces: readonly { readonly prefix: readonly string[]; readonly scope: Scope }[];
}

async function rightsOf(
  request: FastifyRequest,
  namespaces: readonly (readonly string[])[],
): Promise<Rights> {
  const threads = await authorize(request, 'threads:delete', {});
  const crons = await authorize(request, 'crons:delete', {});
  const scopes = [];
  for (const asked of namespaces) {
    // a handler may move it, as in `value.namespace = [user.identity, ...value.namespace]`
    const value: MutableJsonObject = { namespace: [...asked] };
    const scope = await authorize(request, 'store:delete', value);
    const prefix = prefixShape.parse(value['namespace']);
    requireLabels('namespaces', prefix);
    scopes.push({ prefix, scope });
  }
  return { threads, crons, namespaces: scopes };
}

async function countReached(sql: Sql, rights: Rights, metadata: JsonObject): Promise<Reached> {
  let items = 0;
  for (const { prefix, scope } of rights.namespaces) items += await countItems(scope, sql, prefix);
  return {
    threads: await countThreads(rights.threads, sql, { metadata }),
    crons: await countCrons(rights.crons, sql, { metadata }),
    stateless_runs: (await listTemporaryRuns(rights.threads, sql, metadata)).length,
    items,
  };
}

/** Erases crons first, so that they make no runs among those erased after them. */
async function eraseReached(
  sql: Sql,
  rights: Rights,
  metadata: JsonObject,
  threadIds: ReadonlyMap<string, Scope>,
): Promise<Reached> {
  const crons = await removeCrons(rights.crons, sql, metadata);
  let runs = 0;
  for (const runId of await listTemporaryRuns(rights.threads, sql, metadata)) {
    const isRemoved = await sql.transaction(rights.threads, async (inside) => {
      await eraseRunTrace(rights.threads, inside, runId);
      return removeTemporaryRun(rights.threads, inside, runId);
    });
    if (isRemoved) runs += 1;
  }
  let threads = 0;
  for (const [threadId, scope] of threadIds) {
    if (!(await findThreadHead(scope, sql, threadId))) continue;
    await removeWithTraces(sql, scope, threadId);
    threads += 1;
  }
  let items = 0;
  for (const { prefix, scope } of rights.namespaces)
    if (items < MAX_ITEMS) items += await removeItems(scope, sql, prefix, MAX_ITEMS - items);
  return { threads, crons, stateless_runs: runs, items };
}

/** The route that erases the data of a person, or of anything else that metadata name. */
export function registerEraseRoutes(app: FastifyInstance, parts: EraseParts): void {
  const { sql, traces } = parts;
  app.post('/threads/erase', access('any'), async (request) => {
    const { metadata, namespaces, dry_run: isDry } = parseBody(erasing, request.body);
    const rights = await rightsOf(request, namespaces ?? []);
    const answer = { dry_run: isDry ?? false, traces: traces ? 'with_their_runs' : 'none_kept_here' };
    if (isDry) return { ...answer, ...(await countReached(sql, rights, metadata)), is_complete: false };
    const threadIds = new Map<string, Scope>();
    for (const id of await listThreadIds(rights.threads, sql, { metadata }, MAX_THREADS))
      threadIds.set(id, await authorize(request, 'threads:delete', { thread_id: id }));
    const reached = await eraseReached(sql, rights, metadata, threadIds);
    traces?.wake();
    const isComplete = threadIds.size < MAX_THREADS && reached.items < MAX_ITEMS;
    return { ...answer, ...reached, is_complete: isComplete };
  });
}

/** Shapes of requests, for the description of the routes. */
export const ERASE_SHAPES = { erasing, deletion };
