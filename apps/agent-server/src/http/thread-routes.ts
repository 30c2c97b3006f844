import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { inTurns, isJsonObject } from '#lib/json';
import { UUID_PATTERN } from '#lib/resources';
import type { Clock } from '#lib/time';
import { isStateField, STATE_FIELDS } from '../protocol/questions.js';
import {
  checkpointShape,
  command,
  document,
  identifier,
  MAX_NAMES,
  parseBody,
  parseInput,
  sizedFirst,
  uuid7,
} from '../run/requested-run.js';
import type { CallerScope, Scope } from '../store/scope.js';
import {
  THREAD_FIELDS,
  type ThreadField,
  type ThreadSearch,
  type ThreadText,
  type ThreadTtl,
} from '../store/row/thread-row.js';
import type { Sql } from '../store/sql.js';
import {
  countThreads,
  searchThreads,
  type ThreadPage,
  findThreadStorage,
  findThreadTtl,
  setThreadTtl,
} from '../store/statement/threads.js';
import { createThread, patchThread, type ThreadReader } from '../store/statement/change-thread.js';
import { scopeOf } from './caller-scope.js';
import { eraseThread, registerEraseRoutes, type EraseParts } from './erase-routes.js';
import { asJson, extractedFields, extraction, extractValues, paginate } from './search-answer.js';
import { isTrue, listOf, pageOf, pathId, pathText } from './request-parts.js';
import { withMembers } from '../wire/wire-value.js';
import { access } from './route-access.js';
import type { AskedThread, StateQuery, ThreadState } from './thread-state.js';
import { registerThreadUpkeep } from './thread-upkeep.js';

/** Limit of a thread that is created: each superstep is a state. */
const MAX_SUPERSTEPS = 1_000;

/** Limit of updates in all its supersteps together. */
const MAX_UPDATES = 10_000;

/** Threads that a search names; no page of it has more. */
const MAX_IDS = 1_000;

/** Objects that a search leaves out. */
const MAX_EXCLUDED = 100;

/** A thousand years. */
const MAX_TTL_MINUTES = 525_960_000;

const uuid = z.string().regex(UUID_PATTERN, 'must be a uuid');

const minutes = z.number().positive().max(MAX_TTL_MINUTES);
/** Minutes, or more about them. */
const lifetime = z.union([
  minutes,
  z.object({ ttl: minutes, strategy: z.enum(['delete', 'keep_latest']).nullish() }),
]);

const superstep = z.object({
  updates: z
    .array(
      z.object({ values: z.unknown().optional(), command: command.nullish(), as_node: identifier.nullish() }),
    )
    .min(1),
});
function updatesOf(step: unknown): number {
  const updates = isJsonObject(step) ? step['updates'] : undefined;
  return Array.isArray(updates) ? updates.length : 0;
}
const supersteps = sizedFirst(z.array(superstep).max(MAX_SUPERSTEPS), (given) =>
  Array.isArray(given) && given.reduce((sum: number, step) => sum + updatesOf(step), 0) > MAX_UPDATES
    ? `must not have more than ${MAX_UPDATES} updates together`
    : undefined,
);

const creation = z.object({
  thread_id: uuid.nullish(),
  metadata: document.nullish(),
  if_exists: z.enum(['raise', 'do_nothing']).nullish(),
  supersteps: supersteps.nullish(),
  ttl: lifetime.nullish(),
});
const change = z.object({ metadata: document.nullish(), ttl: lifetime.nullish() });
const inclusion = z.object({ include: z.enum(['ttl', '']).nullish() });
const something = document.refine((given) => Object.keys(given).length > 0, 'must name something');
/** An object, or several: threads whose metadata contain one of them are left out. */
const excluded = z.preprocess(
  (given) => (isJsonObject(given) ? [given] : given),
  z.array(something).min(1).max(MAX_EXCLUDED),
);
const search = z.object({
  ids: z.array(uuid).max(MAX_IDS).nullish(),
  metadata: document.nullish(),
  exclude_metadata: excluded.nullish(),
  values: document.nullish(),
  status: z.enum(['idle', 'busy', 'interrupted', 'error']).nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  offset: z.int().min(0).nullish(),
  sort_by: z.enum(['thread_id', 'status', 'created_at', 'updated_at', 'state_updated_at']).nullish(),
  sort_order: z.enum(['asc', 'desc']).nullish(),
  select: z.array(z.enum(THREAD_FIELDS)).max(MAX_NAMES).nullish(),
  extract: extraction.nullish(),
});
const update = z.object({
  values: z.unknown().optional(),
  as_node: identifier.nullish(),
  checkpoint: checkpointShape.nullish(),
  checkpoint_id: identifier.nullish(),
});
const stateField = z.string().refine(isStateField, `must be ${STATE_FIELDS.join(', ')} or values.KEY`);
const stateSelection = { select: z.preprocess(listOf, z.array(stateField).max(100).nullish()) };
const stateQuery = z.object({
  checkpoint: checkpointShape,
  subgraphs: z.boolean().nullish(),
  ...stateSelection,
});
const stateAddress = z.object({
  subgraphs: z.enum(['true', 'false', '1', '0', 'True', 'False']).nullish(),
  ...stateSelection,
});
/**
 * Checkpoint without a configuration. A value that has one is read as nothing else: an invalid configuration
 * would be dropped silently.
 */
const plainPlace = checkpointShape.extend({ configurable: z.never().optional() });
const history = z.object({
  limit: z.coerce.number().int().min(1).max(1000).nullish(),
  before: z.union([identifier, z.object({ configurable: checkpointShape }), plainPlace]).nullish(),
  metadata: document.nullish(),
  checkpoint: checkpointShape.nullish(),
  ...stateSelection,
});

function ttlOf(given: z.infer<typeof lifetime> | null | undefined): ThreadTtl | undefined {
  if (given === null || given === undefined) return undefined;
  if (typeof given === 'number') return { strategy: 'delete', minutes: given };
  return { strategy: given.strategy ?? 'delete', minutes: given.ttl };
}

function searchOf(body: z.infer<typeof search>): ThreadSearch {
  return {
    ids: body.ids ?? undefined,
    metadata: body.metadata ?? undefined,
    excluded: body.exclude_metadata ?? undefined,
    status: body.status ?? undefined,
    values: body.values ?? undefined,
  };
}

function beforeOf(before: z.infer<typeof history>['before']): Record<string, unknown> | undefined {
  if (!before) return undefined;
  if (typeof before === 'string') return { checkpoint_id: before };
  return 'configurable' in before ? before.configurable : before;
}

export interface ThreadRouteParts extends EraseParts {
  readonly state: ThreadState;
  readonly reader: Pick<ThreadReader, 'read'>;
  readonly clock: Clock;
}

/** Changes a thread, and its lifetime when that is given, completely or not at all. */
async function withTtl(
  scope: Scope,
  sql: Sql,
  { threadId, ttl }: { readonly threadId: string; readonly ttl: ThreadTtl | undefined },
  write: (within: Sql) => Promise<ThreadText>,
): Promise<ThreadText> {
  if (!ttl) return write(sql);
  const writeAll = async (inside: Sql): Promise<ThreadText> => {
    const thread = await write(inside);
    await setThreadTtl(scope, inside, threadId, ttl);
    return thread;
  };
  return sql.transaction(scope, writeAll, { locks: threadId });
}

/** @returns the thread that a request creates, or names */
async function createOne(
  request: FastifyRequest,
  { sql, clock, state, threads }: ThreadRouteParts,
): Promise<ThreadText> {
  const { thread_id, metadata, if_exists, ttl, supersteps } = parseBody(creation, request.body);
  const scope = scopeOf(request);
  const threadId = thread_id?.toLowerCase() ?? uuid7(clock.now());
  if (!thread_id && !ttl && !supersteps?.length) return threads.create(scope, threadId, metadata ?? {});
  const create = (within: Sql): Promise<ThreadText> =>
    createThread(scope, within, threadId, metadata ?? {}, if_exists ?? 'raise', ttlOf(ttl));
  if (!supersteps?.length) return create(sql);
  const steps = supersteps.map(({ updates }) =>
    updates.map(({ values, command: given, as_node: asNode }) => ({
      values,
      command: given ?? undefined,
      asNode: asNode ?? undefined,
    })),
  );
  return state.create({ scope, threadId }, steps, create);
}

/** The threads that a search finds; only requested fields are read. */
async function findThreads(
  scope: CallerScope,
  sql: Sql,
  body: z.infer<typeof search>,
  page: Pick<ThreadPage, 'limit' | 'offset'>,
): Promise<ThreadText[]> {
  const { extract, select } = body;
  const whole: ThreadPage = {
    ...page,
    sortBy: body.sort_by ?? 'created_at',
    isAscending: body.sort_order === 'asc',
    shown: select && select.length > 0 ? select : undefined,
  };
  const find = (extracted: readonly ThreadField[]) =>
    searchThreads(scope, sql, searchOf(body), { ...whole, extracted });
  if (!extract) return (await find([])).map(({ thread }) => thread);
  return sql.lookInto(scope, async () => {
    const threads: ThreadText[] = [];
    for (const { thread, extracted } of await find(extractedFields(extract))) {
      const found = await inTurns(extractValues(extracted ?? '{}', extract), scope.left);
      threads.push(`${thread.slice(0, -1)}${thread === '{}' ? '' : ','}"extracted":${found}}`);
    }
    return threads;
  });
}

/** Routes about threads and their states. */
export function registerThreadRoutes(app: FastifyInstance, parts: ThreadRouteParts): void {
  const { sql } = parts;
  app.post('/threads', access('threads:create'), async (request, reply) =>
    asJson(reply, await createOne(request, parts)),
  );
  app.post('/threads/search', access('threads:search'), async (request, reply) => {
    const body = parseBody(search, request.body);
    const page = pageOf(body);
    const scope = scopeOf(request);
    const [found, total] = await Promise.all([
      findThreads(scope, sql, body, page),
      countThreads(scope, sql, searchOf(body)),
    ]);
    paginate(reply, page, found.length, total);
    return asJson(reply, `[${found.join(',')}]`);
  });
  app.post('/threads/count', access('threads:search'), async (request) =>
    countThreads(scopeOf(request), sql, searchOf(parseBody(search, request.body))),
  );
  app.get('/threads/:thread_id', access('threads:read'), async (request, reply) => {
    const { include } = parseInput(inclusion, request.query, 'query');
    const [scope, threadId] = [scopeOf(request), pathId(request, 'thread_id')];
    const more = include ? { ttl: (await findThreadTtl(scope, sql, threadId)) ?? null } : {};
    return asJson(reply, withMembers(await parts.reader.read(scope, threadId), more));
  });
  app.get('/threads/:thread_id/storage', access('threads:read'), async (request) =>
    findThreadStorage(scopeOf(request), sql, pathId(request, 'thread_id')),
  );
  app.patch('/threads/:thread_id', access('threads:update'), async (request, reply) => {
    const { metadata, ttl } = parseBody(change, request.body);
    const [scope, threadId] = [scopeOf(request), pathId(request, 'thread_id')];
    const patch = (within: Sql): Promise<ThreadText> => patchThread(scope, within, threadId, metadata ?? {});
    const thread = await withTtl(scope, sql, { threadId, ttl: ttlOf(ttl) }, patch);
    return request.headers['prefer'] === 'return=minimal' ? reply.code(204).send() : asJson(reply, thread);
  });
  app.delete('/threads/:thread_id', access('threads:delete'), async (request, reply) => {
    await eraseThread(request, parts, scopeOf(request), pathId(request, 'thread_id'));
    return reply.code(204).send();
  });
  registerStateRoutes(app, parts.state);
  registerThreadUpkeep(app, parts);
  registerEraseRoutes(app, parts);
}

function askedOf(request: FastifyRequest): AskedThread {
  return { scope: scopeOf(request), threadId: pathId(request, 'thread_id') };
}

/** State requested by the query of its address. */
function queriedState(request: FastifyRequest): StateQuery {
  const { subgraphs, select } = parseInput(stateAddress, request.query, 'query');
  return { subgraphs: isTrue(subgraphs?.toLowerCase()), select: select ?? undefined };
}

function registerStateRoutes(app: FastifyInstance, state: ThreadState): void {
  app.get('/threads/:thread_id/state', access('threads:read'), async (request, reply) =>
    asJson(reply, await state.get(askedOf(request), queriedState(request))),
  );
  app.get('/threads/:thread_id/state/:checkpoint_id', access('threads:read'), async (request, reply) => {
    const checkpoint_id = pathText(request, 'checkpoint_id');
    const asked = { ...queriedState(request), checkpoint: { checkpoint_id } };
    return asJson(reply, await state.get(askedOf(request), asked));
  });
  app.post('/threads/:thread_id/state/checkpoint', access('threads:read'), async (request, reply) => {
    const { checkpoint, subgraphs, select } = parseBody(stateQuery, request.body);
    const asked = { checkpoint, subgraphs: subgraphs ?? false, select: select ?? undefined };
    return asJson(reply, await state.get(askedOf(request), asked));
  });
  app.post('/threads/:thread_id/state', access('threads:update'), async (request) => {
    const body = parseBody(update, request.body);
    const checkpoint =
      body.checkpoint ?? (body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : undefined);
    return state.update(askedOf(request), {
      values: body.values ?? null,
      asNode: body.as_node ?? undefined,
      checkpoint,
    });
  });
  const list = async (
    request: FastifyRequest,
    reply: FastifyReply,
    place: 'body' | 'query',
  ): Promise<unknown> => {
    const query = parseInput(history, request[place], place);
    const text = await state.history(askedOf(request), {
      limit: query.limit ?? 10,
      before: beforeOf(query.before),
      metadata: query.metadata ?? undefined,
      checkpoint: query.checkpoint ?? undefined,
      select: query.select ?? undefined,
    });
    return asJson(reply, text);
  };
  app.get('/threads/:thread_id/history', access('threads:read'), (request, reply) =>
    list(request, reply, 'query'),
  );
  app.post('/threads/:thread_id/history', access('threads:read'), (request, reply) =>
    list(request, reply, 'body'),
  );
}

/** Shapes of requests, for the description of the routes. */
export const THREAD_SHAPES = {
  creation,
  change,
  inclusion,
  search,
  update,
  stateQuery,
  stateAddress,
  history,
};
