import type { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import { errorText, HTTP_STATUS, PublicError } from '#lib/errors';
import {
  bodyTooLarge,
  guardServer,
  GUARDED_SERVER,
  limitServer,
  protectAnswer,
  readBody,
  SERVER_LIMITS,
  SCHEMALESS,
  serverOptions,
  type ServerLimits,
} from '#lib/http';
import type { RouteGroup } from '#lib/graph-configuration';
import { isJsonObject } from '#lib/json';
import { type Logger, observeRequests, recordCuts, withLogFields } from '#lib/telemetry';
import { postgresTrouble } from '#lib/postgres';
import { isUuid } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import type { Readiness } from '../start/await-database.js';
import { AuthRefusal, type AuthUser } from '../authorization/auth-user.js';
import type { AppFront, Passed } from '../app-front/app-front.js';
import type { Authorization } from '../authorization/authorization.js';
import { Authentication, type KeyVerifier } from './authentication.js';
import { authorizeRoute } from './caller-scope.js';
import { BodyTurns, countBody, takeTurns } from './body-turns.js';
import { chosenHeaders } from './caller-fields.js';
import { allowOrigins, ANY_PAGE, type CorsPolicy } from './cors.js';
import { parseJsonBody } from './json-body.js';
import { withoutPrefix } from './request-parts.js';
import { type ProbeParts, registerProbe } from './probe-route.js';
import type { Activity, OpenReplies } from './open-replies.js';
import { passUpgrade, serveUpgrades, UPGRADES } from './socket-upgrades.js';
import { access, disabledBy } from './route-access.js';
import type { UnsentOutput } from './unsent-output.js';

/** Graph inputs carry documents and images. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Limit of incomplete bodies, of all clients together: a client that stops in the middle holds what it sent.
 */
const MAX_ARRIVING_BYTES = 4 * MAX_BODY_BYTES;

/** Limit of bodies that are parsed and stored at once: each is in memory several times in the process. */
const MAX_BODIES_AT_WORK_BYTES = 16 * 1024 * 1024;

const TOO_LARGE = bodyTooLarge(MAX_BODY_BYTES);

/** Answers of this size are counted until they are read. */
const COUNTED_FROM_BYTES = 64 * 1024;

/** Time longer than any load balancer keeps a connection, so that it closes first. */
const KEEP_ALIVE_MS = 75_000;

/** The part of it that requests meet. */
type Front = Pick<AppFront, 'take' | 'wants' | 'authenticatesFirst' | 'forward'>;

export interface HttpServerParts extends Omit<ProbeParts, 'readiness'> {
  /** Undefined: authentication is off. */
  readonly verifier: KeyVerifier | undefined;
  /** Handlers of the agent; undefined when it has none. */
  readonly authorization?: Authorization | undefined;
  /** True when a studio may call beside the agent's own users; yes by default. */
  readonly admitsStudio?: boolean;
  /** True when a proxy in front of every request names its client; no by default. */
  readonly trustsForwarded?: boolean;
  readonly readiness: Pick<Readiness, 'notReady' | 'notServing' | 'settled'>;
  readonly replies: OpenReplies;
  /** Requests to the server in flight. */
  readonly activity: Pick<Activity, 'add' | 'isClosed'>;
  readonly unsent: UnsentOutput;
  /** Policy for pages that may read answers; any by default. */
  readonly cors?: CorsPolicy;
  /** Groups of routes that the agent does not want to be served. */
  readonly disabled?: ReadonlySet<RouteGroup>;
  /** Prefix of every path; empty by default. */
  readonly mountPrefix?: string;
  /** True when graphs see this header of requests; none by default. */
  readonly passesHeader?: (name: string) => boolean;
  /** True when log lines contain this header of requests; none by default. */
  readonly logsHeader?: (name: string) => boolean;
  readonly info: () => unknown;
  /** True when the server only takes runs, and answers probes and its own graphs; no by default. */
  readonly isQueue?: boolean;
  /** The HTTP app of the agent; undefined when it has none. */
  readonly app?: Front | undefined;
  /** True when requests are measured for metrics; yes by default. */
  readonly isObserved?: boolean;
  /** Learns of every route as it is registered, for example `GET /threads/:thread_id`. */
  readonly onRoute?: (name: string) => void;
  readonly log: Logger;
  /** Clock; that of the machine by default. */
  readonly clock?: Clock;
  /** Limits of clients; those of every server by default. */
  readonly limits?: ServerLimits;
}

/** Part of an error that a caller may see; undefined for faults of the server. */
export function publicErrorOf(error: unknown): PublicError | undefined {
  if (error instanceof PublicError) return error;
  const trouble = postgresTrouble(error);
  switch (trouble) {
    case 'refused':
      return new PublicError(
        'bad_request',
        'The request holds a value that cannot be stored or searched for',
      );
    case 'unavailable':
    case 'conflict':
      return new PublicError('unavailable', 'Database unavailable; retry');
    case undefined:
      return httpErrorOf(error);
    default:
      return trouble satisfies never;
  }
}

/** Error that the framework found in a request. */
function httpErrorOf(error: unknown): PublicError | undefined {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  if (error.statusCode === 413) return TOO_LARGE;
  if (typeof error.statusCode === 'number' && error.statusCode < 500 && error.statusCode !== 415)
    return new PublicError('bad_request', error.message);
  return undefined;
}

/** The run and the thread that a request names, for the log lines of its work. */
function namedIn({ params }: FastifyRequest): Readonly<Record<string, string>> {
  const given = isJsonObject(params) ? params : {};
  const named = ['run_id', 'thread_id'].map((name) => [name, given[name]] as const);
  return Object.fromEntries(
    named.filter((pair): pair is [string, string] => typeof pair[1] === 'string' && isUuid(pair[1])),
  );
}

/** Routes that a server which only takes runs answers for any client. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/ok', '/info', '/metrics']);

/** Addresses by which graphs on this server reach it. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::ffff:127.0.0.1', '::1']);

/** @throws PublicError `not_found` */
function refuseToServe({ routeOptions, ip }: FastifyRequest): void {
  if (PROBES.has(routeOptions.url) || OWN_ADDRESSES.has(ip)) return;
  throw new PublicError(
    'not_found',
    'Not found: this server only takes runs (AGENTPLANE_ROLE is queue); call one that answers requests',
  );
}

function toApp(
  front: Front,
  { raw: request, url }: FastifyRequest,
  reply: FastifyReply,
  passed: Passed,
): FastifyReply {
  const { raw: response } = reply.hijack();
  const requestId = String(response.getHeader('x-request-id') ?? '');
  front.forward({ request, response, url, requestId, caller: passed.caller }, passed);
  return reply;
}

/** A line for each answered request, with the headers that the agent chose. */
function logAnswers(app: FastifyInstance, isChosen: (name: string) => boolean, log: Logger): void {
  app.addHook('onResponse', async (request, { statusCode }) => {
    const headers = chosenHeaders(request.headers, isChosen) ?? {};
    const { method, routeOptions } = request;
    log.info({ method, path: routeOptions.url, status: statusCode, headers }, 'request answered');
  });
}

function answerErrors(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    if (error instanceof AuthRefusal)
      return reply.code(error.status).headers(error.headers).send({ detail: error.detail });
    const shown = publicErrorOf(error);
    if (shown?.code === 'unavailable')
      log.warn({ error: errorText(error) }, 'dependency unavailable for a request');
    const retryAfter = shown?.retryAfterSeconds ?? (shown?.code === 'unavailable' ? 1 : undefined);
    if (retryAfter !== undefined) void reply.header('retry-after', retryAfter);
    if (shown) return reply.code(HTTP_STATUS[shown.code]).send(shown.body);
    if (error instanceof Error && 'statusCode' in error && error.statusCode === 415)
      return reply.code(415).send({ detail: 'The content type of the body must be application/json' });
    log.error({ err: error, path: request.routeOptions.url, method: request.method }, 'request failed');
    return reply.code(500).send({ detail: 'Internal server error' });
  });
}

function parseBodies(app: FastifyInstance, clock: Clock): void {
  const turns = new BodyTurns(MAX_BODIES_AT_WORK_BYTES, clock);
  takeTurns(app, turns);
  const room = new Admission({
    capacity: MAX_ARRIVING_BYTES,
    halves: true,
    refusal: 'Too many large requests arrive at once; try again',
  });
  app.removeContentTypeParser('text/plain'); // its bodies would be in no account
  app.addContentTypeParser('application/json', async (request: FastifyRequest, body: Readable) => {
    if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw TOO_LARGE;
    const account = room.open(request.caller?.identity);
    try {
      const bytes = await readBody(body, MAX_BODY_BYTES, account.hold);
      return await parseJsonBody(bytes, (values) =>
        countBody(turns, request, { length: bytes.length, values }),
      );
    } finally {
      account.keep(0);
    }
  });
}

/** A client that keeps its connection would find the same server again. */
function goingToSleep(reply: FastifyReply): PublicError {
  void reply.header('connection', 'close');
  return new PublicError('unavailable', 'The deployment is idle and going to sleep; retry');
}

/** The HTTP side of the server without its routes: authentication, errors, probes, CORS. */
export function buildHttpServer(parts: HttpServerParts): FastifyInstance {
  const { readiness, replies, activity, unsent, cors = ANY_PAGE, info, log, limits = SERVER_LIMITS } = parts;
  const { verifier, authorization, admitsStudio = true, trustsForwarded = false, app: front } = parts;
  const authentication = new Authentication({ verifier, authorization, admitsStudio, trustsForwarded });
  const app = Fastify({
    bodyLimit: MAX_BODY_BYTES,
    http: { ...GUARDED_SERVER, ...UPGRADES, ...serverOptions(limits) },
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: true,
    rewriteUrl: ({ url = '/' }) => withoutPrefix(url, parts.mountPrefix ?? ''),
    schemaController: SCHEMALESS,
    logger: false,
    // a path that an app guards has one address alone
    routerOptions: { ignoreTrailingSlash: parts.app === undefined },
    frameworkErrors: (_error, _request, reply) => {
      const answer: FastifyReply = reply;
      protectAnswer(answer.raw);
      void answer.code(400).send({ detail: 'The address of the request cannot be decoded' });
    },
  });
  serveUpgrades(app, cors);
  limitServer(app.server, { limits, onCut: recordCuts(log, 'agent') });
  app.addHook('onRoute', ({ method, url, config }) => {
    if (!config?.access) throw new Error(`route ${String(method)} ${url} does not name its access`);
    const names = [method].flat().map((one) => `${one} ${url}`);
    config.disabledBy = disabledBy(names[0] ?? '', parts.disabled ?? new Set());
    if (config.disabledBy === undefined) names.forEach((name) => parts.onRoute?.(name));
  });
  if (parts.isObserved !== false) observeRequests(app);
  guardServer(app);
  app.decorate('authorization', authorization);
  app.decorate('passesHeader', parts.passesHeader ?? (() => false));
  app.decorate('callerOf', (request: FastifyRequest) => authentication.callerAgain(request));
  app.decorateRequest('caller', undefined);
  app.decorateRequest('scope', undefined);
  app.decorateRequest('response', undefined);

  parseBodies(app, parts.clock ?? systemClock);

  app.addHook('onRequest', async (request: FastifyRequest, reply) => {
    replies.add(reply.raw);
    request.response = reply.raw;
    if (allowOrigins(cors, request, reply)) return reply.code(204).send();
    if (parts.isQueue) refuseToServe(request);
    const { access: asked, disabledBy: group } = request.routeOptions.config;
    const isOpen = asked === 'open' && group === undefined;
    const passed = front?.take(request.headers);
    const own = { isFound: !request.is404 && group === undefined, isOpen };
    const isForApp = !passed && front?.wants(request.url, own) === true;
    if (isOpen && !isForApp) return undefined;
    activity.add(request.raw, reply.raw);
    if (passed) passUpgrade(passed.raw, request.raw);
    if (readiness.notServing) throw new PublicError('unavailable', readiness.notServing.detail);
    if (activity.isClosed) throw goingToSleep(reply);
    if (isForApp) {
      const caller = front.authenticatesFirst(own) ? await authentication.callerOf(request) : undefined;
      const again = (): Promise<AuthUser | undefined> => authentication.callerOf(request);
      return toApp(front, request, reply, {
        raw: request.raw,
        address: authentication.addressOf(request),
        caller,
        again,
      });
    }
    request.caller = await authentication.callerOfRoute(request, { isForKeys: asked === 'key', passed });
    // after authentication: an unauthenticated client learns nothing of the routes
    if (group !== undefined)
      throw new PublicError('not_found', `Not found: http.disable_${group} of langgraph.json is on`);
    return undefined;
  });

  app.addHook('preHandler', (request, _reply, done) => withLogFields(namedIn(request), done));
  if (parts.logsHeader) logAnswers(app, parts.logsHeader, log);
  app.addHook('preHandler', async (request: FastifyRequest) => {
    const { access: asked } = request.routeOptions.config;
    if (asked && asked !== 'open' && asked !== 'any' && asked !== 'key')
      request.scope = await authorizeRoute(request, asked);
  });

  app.addHook('onSend', (_request, reply, payload, done) => {
    const length = typeof payload === 'string' || payload instanceof Buffer ? payload.length : 0;
    if (length >= COUNTED_FROM_BYTES) unsent.open(reply.raw).owe(length);
    done(null, payload);
  });

  answerErrors(app, log);
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ detail: 'Not found' }));

  registerProbe(app, parts);
  app.get('/info', access('open'), async () => info());
  return app;
}
