import type { FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import { PublicError } from '#lib/errors';
import { requireLabels } from '../memory/item-limits.js';
import { hasPathPart, pathPart, queryOf } from './request-parts.js';
import type { Access } from './route-access.js';
import type { AuthUser } from '../authorization/auth-user.js';
import type { Authorization } from '../authorization/authorization.js';
import { type CallerScope, EVERY_ROW, type SqlFilter } from '../store/scope.js';

/** Value of a request, in the form in which authorization handlers of LangGraph expect it. */
export interface AskedValue {
  /** Its metadata is the request's own, when that has one. */
  readonly value: MutableJsonObject;
  /** Copies the changes of a handler into the request. */
  keep(): void;
}

function partOf(request: FastifyRequest, name: string): string | undefined {
  return hasPathPart(request, name) ? pathPart(request, name) : undefined;
}

function bodyOf({ body }: FastifyRequest): MutableJsonObject {
  return isJsonObject(body) ? body : {};
}

/** A field that is no object is refused by the route, not by a handler that stumbles over it. */
function objectOf(given: unknown): JsonObject | undefined {
  return isJsonObject(given) ? given : undefined;
}

function picked(from: JsonObject, names: readonly string[]): MutableJsonObject {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/** Fields as a handler left them, without those that it removed. */
function takeOver(left: JsonObject, into: MutableJsonObject, names: readonly string[]): void {
  for (const name of names) {
    if (left[name] === undefined) delete into[name];
    else into[name] = left[name];
  }
}

/** A value whose changed fields go back into a document of the request under the same names. */
function stamped(value: MutableJsonObject, into: MutableJsonObject, names: readonly string[]): AskedValue {
  return { value, keep: () => takeOver(value, into, names) };
}

/**
 * Fields that a handler may change when something is created or changed; metadata that is not an object is
 * left for the route to refuse.
 */
function metadataOf(body: JsonObject): readonly string[] {
  const { metadata = null } = body;
  return metadata === null || isJsonObject(metadata) ? ['metadata'] : [];
}

function told(value: MutableJsonObject): AskedValue {
  return { value, keep: () => undefined };
}

/** A search is narrowed by the filter of the handler, which gets a copy of its conditions. */
function searched(request: FastifyRequest, names: readonly string[]): AskedValue {
  const value = structuredClone(picked({ ...queryOf(request), ...bodyOf(request) }, names));
  return told({ ...value, metadata: objectOf(value['metadata']) });
}

/** Fields of a run's work, its starting point and the address that its end is sent to. */
const KWARGS = [
  'input',
  'command',
  'config',
  'context',
  'checkpoint',
  'checkpoint_id',
  'webhook',
  'durability',
  'interrupt_before',
  'interrupt_after',
  'stream_mode',
  'stream_subgraphs',
  'stream_resumable',
  'feedback_keys',
];

/**
 * The value of `threads:create_run` for the body of a run.
 * @param body is given the metadata and the kwargs that the handler leaves
 */
function runValue(body: MutableJsonObject, threadId: string | undefined): AskedValue {
  const value: MutableJsonObject = {
    thread_id: threadId,
    ...picked(body, ['assistant_id', 'multitask_strategy', 'if_not_exists', 'after_seconds']),
    run_id: undefined,
    status: 'pending',
    prevent_insert_if_inflight: body['multitask_strategy'] === 'reject',
    metadata: objectOf(body['metadata']) ?? {},
    kwargs: picked(body, KWARGS),
  };
  const keep = (): void => {
    takeOver(value, body, metadataOf(body));
    takeOver(objectOf(value['kwargs']) ?? {}, body, KWARGS); // a handler may put another object in their place
  };
  return { value, keep };
}

function updatedThread(request: FastifyRequest): AskedValue {
  const thread_id = partOf(request, 'thread_id');
  const { url = '' } = request.routeOptions;
  const body = bodyOf(request);
  if (url.endsWith('/cancel')) {
    const { action = 'interrupt' } = queryOf(request);
    const run_ids = hasPathPart(request, 'run_id') ? [pathPart(request, 'run_id')] : body['run_ids'];
    const status = body['status'] ?? 'pending';
    return told({ thread_id: thread_id ?? body['thread_id'], action, metadata: { run_ids, status } });
  }
  if (url !== '/threads/:thread_id') return told({ thread_id });
  return stamped({ thread_id, metadata: objectOf(body['metadata']) }, body, metadataOf(body));
}

function created(request: FastifyRequest, names: readonly string[], more: JsonObject = {}): AskedValue {
  const body = bodyOf(request);
  const value = { ...picked(body, names), ...more, metadata: objectOf(body['metadata']) };
  return stamped(value, body, metadataOf(body));
}

const ASSISTANT = ['graph_id', 'config', 'context', 'name', 'description'];
const CRON = ['schedule', 'end_time', 'user_id'];

function cronValue(request: FastifyRequest): AskedValue {
  const payload = bodyOf(request);
  const more = { payload, cron_id: partOf(request, 'cron_id'), thread_id: partOf(request, 'thread_id') };
  return created(request, CRON, more);
}

/** An item or a part of the store; a handler may move it, as in `value.namespace = [user.identity, ...value.namespace]`. */
function itemValue(request: FastifyRequest, namespace: string, names: readonly string[]): AskedValue {
  const body = bodyOf(request);
  const value: MutableJsonObject = { ...picked(body, names), namespace: body[namespace] ?? [] };
  const keep = (): void => {
    stamped(value, body, names).keep();
    body[namespace] = value['namespace'];
  };
  return { value, keep };
}

/** Value of an item's read; in a query the namespace is a text with dots. */
function readItemValue(request: FastifyRequest): AskedValue {
  const query: MutableJsonObject = queryOf(request);
  const { namespace = '', key } = query;
  const value: MutableJsonObject = { namespace: String(namespace).split('.'), key };
  const keep = (): void => {
    stamped(value, query, ['key']).keep();
    const { namespace: left } = value;
    const labels: readonly unknown[] = Array.isArray(left) ? left : [];
    // a label with a dot would become two labels when joined, and could address another caller's namespace
    if (labels.some((label) => String(label).includes('.'))) requireLabels('namespace', labels);
    if (labels.join('.') !== namespace) query['namespace'] = labels.join('.');
  };
  return { value, keep };
}

const PAGE = ['limit', 'offset'];

/** The value that a handler for this access is given. */
const VALUES: Readonly<Record<Access, (request: FastifyRequest) => AskedValue>> = {
  'threads:create': (request) => created(request, ['thread_id', 'if_exists']),
  'threads:read': (request) => told({ thread_id: partOf(request, 'thread_id') }),
  'threads:update': updatedThread,
  'threads:delete': (request) =>
    told({ thread_id: partOf(request, 'thread_id'), run_id: partOf(request, 'run_id') }),
  'threads:search': (request) => {
    const asked = searched(request, ['metadata', 'ids', 'status', 'values', ...PAGE]);
    asked.value['thread_id'] = partOf(request, 'thread_id');
    return asked;
  },
  'threads:create_run': (request) => runValue(bodyOf(request), partOf(request, 'thread_id')),
  'assistants:create': (request) => created(request, ['assistant_id', 'if_exists', ...ASSISTANT]),
  'assistants:read': (request) => told({ assistant_id: partOf(request, 'assistant_id') }),
  'assistants:update': (request) =>
    created(request, [...ASSISTANT, 'version'], { assistant_id: partOf(request, 'assistant_id') }),
  'assistants:delete': (request) => told({ assistant_id: partOf(request, 'assistant_id') }),
  'assistants:search': (request) => searched(request, ['graph_id', 'metadata', 'name', ...PAGE]),
  'crons:create': cronValue,
  'crons:read': (request) => told({ cron_id: partOf(request, 'cron_id') }),
  'crons:update': cronValue,
  'crons:delete': (request) => told({ cron_id: partOf(request, 'cron_id') }),
  'crons:search': (request) => searched(request, ['assistant_id', 'thread_id', 'metadata', ...PAGE]),
  'store:put': (request) => itemValue(request, 'namespace', ['key', 'value']),
  'store:get': readItemValue,
  'store:search': (request) => itemValue(request, 'namespace_prefix', ['filter', 'query', ...PAGE]),
  'store:list_namespaces': (request) => itemValue(request, 'prefix', ['suffix', 'max_depth', ...PAGE]),
  'store:delete': (request) => itemValue(request, 'namespace', ['key']),
};

function askedValue(request: FastifyRequest, access: Access): AskedValue {
  return VALUES[access](request);
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Response that answers the request. */
    response: ServerResponse | undefined;
  }
}

const signals = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Signal aborted once the client of a request has gone, or has its answer. Made only for requests that wait.
 */
function clientLeft({ response }: FastifyRequest): AbortSignal | undefined {
  if (!response) return undefined;
  const known = signals.get(response);
  if (known) return known;
  const left = new AbortController();
  const abort = (): void =>
    left.abort(new PublicError('bad_request', 'The client closed the connection before its turn came'));
  // `close` comes once
  if (response.closed) abort();
  else response.once('close', abort);
  signals.set(response, left.signal);
  return left.signal;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined when the agent brings no handlers: every caller reaches everything of the deployment. */
    readonly authorization: Authorization | undefined;
    /** Authenticates a request once more, while it lasts. */
    callerOf(request: FastifyRequest): Promise<AuthUser | undefined>;
  }
  interface FastifyRequest {
    /** The authenticated caller; undefined when authentication is off. */
    caller: AuthUser | undefined;
    /** Rows that the caller reaches by this request; undefined on routes whose access is `open` or `any`. */
    scope: CallerScope | undefined;
  }
}

/** Scope of a request that no handler limits. */
function everythingFor(request: FastifyRequest): CallerScope {
  return callerScope(request, EVERY_ROW);
}

function callerScope(request: FastifyRequest, filter: SqlFilter): CallerScope {
  return {
    kind: 'caller',
    filter,
    caller: request.caller?.identity,
    get left() {
      return clientLeft(request);
    },
  };
}

/** The scope of a request, made from the access that its route names. */
export function scopeOf({ scope, routeOptions }: FastifyRequest): CallerScope {
  if (scope) return scope;
  throw new Error(`route ${routeOptions.url} has no scope: name its access, or ask by authorize`);
}

/**
 * Determines the scope of one access beyond that of the route: for routes that learn from their body what
 * they do, and for those that do two things. A key of the workspace reaches everything of its deployment,
 * unless a handler of the agent answers a filter.
 * @param value of the request, which the handler may change
 * @throws AuthRefusal, PublicError `unavailable`
 */
export async function authorize(
  request: FastifyRequest,
  access: Access,
  value: MutableJsonObject,
): Promise<CallerScope> {
  const { caller, server } = request;
  if (!server.authorization) return everythingFor(request);
  if (!caller) throw new Error('a request with handlers of the agent has no caller');
  const filter = await server.authorization.authorize(access, caller, value);
  return callerScope(request, filter ?? EVERY_ROW);
}

/** Authorizes the access of a route; changes of a handler are made in the request. */
export async function authorizeRoute(request: FastifyRequest, access: Access): Promise<CallerScope> {
  if (!request.server.authorization) return everythingFor(request);
  if (request.method !== 'GET') request.body ??= {}; // handlers stamp metadata on requests without a body too
  const { value, keep } = askedValue(request, access);
  const scope = await authorize(request, access, value);
  keep();
  return scope;
}

/** Scope for a thread that a run makes; undefined without a handler for it. */
export function newThreadScopeOf(
  request: FastifyRequest,
): ((thread: MutableJsonObject) => Promise<CallerScope>) | undefined {
  return request.server.authorization && ((thread) => authorize(request, 'threads:create', thread));
}

/** Authorizes a run. @param body of `POST /runs`, which gets the changes of a handler */
export async function authorizeRun(
  request: FastifyRequest,
  body: MutableJsonObject,
  threadId: string | undefined,
): Promise<CallerScope> {
  const { value, keep } = runValue(body, threadId);
  const scope = await authorize(request, 'threads:create_run', value);
  keep();
  return scope;
}
