import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import type { MutableJsonObject } from '#lib/json';
import type { AuthUser } from '../authorization/auth-user.js';
import type { Authorization } from '../authorization/authorization.js';
import type { CallerScope } from '../store/scope.js';
import { EVERY_ROW, type SqlFilter } from '../store/sql-filter.js';
import { askedValue, runValue } from './asked-value.js';
import type { Access } from './route-access.js';

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
