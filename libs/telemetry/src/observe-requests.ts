import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import { systemClock } from '#lib/time';
import { metrics } from './metrics.js';
import { inScope, type Scope } from './scope.js';
import { parseTraceParent } from './trace-parent.js';
import { activeTracing } from './tracing.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** Method for labels: one that no server supports is `other`. */
export function knownMethod(method: string | undefined): (typeof METHODS)[number] | 'other' {
  return METHODS.find((known) => known === method) ?? 'other';
}

/** A status by its first digit, as labels have it. */
export type StatusClass = '1xx' | '2xx' | '3xx' | '4xx' | '5xx';

const CLASSES: readonly StatusClass[] = ['1xx', '2xx', '3xx', '4xx', '5xx'];

/** Anything that is no status counts as a failure of the server. */
export function statusClass(status: number): StatusClass {
  return CLASSES[Math.floor(status / 100) - 1] ?? '5xx';
}

/** Header that carries the id of a request both ways. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** Bounded, and of characters that are safe in a header, in a log line and in a shell. */
const WELL_FORMED = /^[A-Za-z0-9][A-Za-z0-9._:+/=-]{0,127}$/;

/** The caller's own id when it is well-formed, else a new one. */
export function requestId(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && WELL_FORMED.test(header) ? header : randomUUID();
}

interface UnderWay {
  readonly startedMs: number;
  readonly scope: Scope;
}

/**
 * Measures every request of a Fastify server, gives it an id that is returned to its caller and is in each
 * log line of its work, and makes it a span, child of the caller's. To be called before any other hook is
 * added.
 */
export function observeRequests(server: FastifyInstance): void {
  const requests = new WeakMap<FastifyRequest, UnderWay>();

  server.addHook('onRequest', (request, reply, done) => {
    const id = requestId(request.headers[REQUEST_ID_HEADER]);
    // on the raw answer: streams write their own head
    reply.raw.setHeader(REQUEST_ID_HEADER, id);
    const method = knownMethod(request.method);
    const route = routeOf(request);
    const span = activeTracing()?.begin(
      `${method} ${route}`,
      { 'http.request.method': method, 'http.route': route, 'request.id': id },
      parseTraceParent(request.headers.traceparent),
    );
    const scope: Scope = { fields: { requestId: id }, left: leftOf(reply.raw), ...(span ? { span } : {}) };
    requests.set(request, { startedMs: systemClock.monotonicMs(), scope });
    inScope(scope, done);
  });

  // reading a body leaves the scope: its events come from the socket
  server.addHook('preHandler', (request, _reply, done) => {
    const underWay = requests.get(request);
    if (underWay) inScope(underWay.scope, done);
    else done();
  });

  server.addHook('onResponse', (request, reply, done) => {
    const underWay = requests.get(request);
    if (underWay) {
      const { span } = underWay.scope;
      metrics.httpRequestDuration.observe((systemClock.monotonicMs() - underWay.startedMs) / 1000, {
        method: knownMethod(request.method),
        route: routeOf(request),
        status_class: statusClass(reply.statusCode),
      });
      span?.set({ 'http.response.status_code': reply.statusCode });
      span?.end(reply.statusCode >= 500 ? new Error(`status ${reply.statusCode}`) : undefined);
    }
    done();
  });
}

/** Made for those alone that wait. */
function leftOf(response: ServerResponse): () => AbortSignal {
  let left: AbortController | undefined;
  return () => {
    if (left) return left.signal;
    const made = (left = new AbortController());
    const abort = (): void =>
      made.abort(new PublicError('bad_request', 'The client closed the connection before its turn came'));
    // `close` comes once
    if (response.closed) abort();
    else response.once('close', abort);
    return made.signal;
  };
}

function routeOf(request: FastifyRequest): string {
  const { url } = request.routeOptions;
  return url === undefined || request.is404 ? 'unmatched' : url;
}
