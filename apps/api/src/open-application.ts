import 'reflect-metadata';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Admission } from '#lib/admission';
import {
  guardServer,
  GUARDED_SERVER,
  limitServer,
  protectAnswer,
  SERVER_LIMITS,
  SCHEMALESS,
  serverOptions,
  type ServerLimits,
} from '#lib/http';
import { claimAddress, type ListenAddress } from '#lib/held-sockets';
import type { Stoppable } from '#lib/lifecycle';
import { NestLog, Ticks } from '#lib/nest';
import { observeRequests, recordCuts } from '#lib/telemetry';
import { ApiModule } from './api-module.js';
import { auditRequests } from './audit/audit-requests.js';
import type { ApiParts } from './core/api-parts.js';
import { findCaller } from './tenancy/caller.js';
import { guardKeys, type KeyRing } from './tenancy/key-guard.js';
import { KEY_RING } from './tenancy/key-ring.js';
import { AnswerBudget } from './core/answer-budget.js';
import { AgentRoutes } from './route/agent-routes.js';
import { reportIgnored } from './audit/report-ignored.js';
import { RouteHosts } from './route/route-hosts.js';
import { allowPages, countAnswers, watchMethods } from './wire/count-answers.js';
import { answerStatuses } from './otlp/answer-statuses.js';
import { answerNotBuilt } from './wire/not-built.js';
import { registerBodyParsers } from './wire/body-parsers.js';
import { shapeCatalogueErrors } from './catalogue/catalogue-controller.js';
import { ErrorFilter } from './wire/error-answer.js';
import { requireAccess } from './wire/route-access.js';
import { QueryGuard } from './wire/query-guard.js';
import { RequestPipe } from './wire/request-pipe.js';
import { rewriteAddress } from './wire/addresses.js';
import { SpeakVocabulary } from './wire/speak-vocabulary.js';
import { clientAddress } from './wire/origin-of.js';

/** The api with everything made and nothing started. */
export interface ApiApplication extends Stoppable {
  /** Ticks, to be started once the server listens, and stopped before it. */
  readonly ticks: Ticks;
  /** The parts that Nest made. */
  readonly container: Pick<NestFastifyApplication, 'get'>;
  /** Answers the requests of this and of other servers that hand theirs on. */
  readonly server: Server;
  /** True when a request to change the protocol is for a deployment. */
  readonly mayUpgrade: (request: IncomingMessage) => boolean;
  /** Begins to serve, on a free port for 0; answers the port. */
  listen(address: ListenAddress): Promise<number>;
  /** Serves for the drain time of the settings, and ends each connection with an answer; before `stop`. */
  drain(): Promise<void>;
}

/** Bodies are bounded and held in memory until they have come. */
const LIMITS: ServerLimits = { ...SERVER_LIMITS, bodyTotalMs: 120_000 };

/** Share of the memory for bodies of traces: other bodies are at most 1 MiB long. */
const SHARE_OF_BODIES = 0.25;
const BUSY = 'Reading the body failed: too many bodies arrive at once; try again';

/** Owner that shares the memory of its requests; callers without a key by their address. */
function ownerOf(request: FastifyRequest): string | undefined {
  return findCaller(request)?.tenantId ?? clientAddress(request);
}

/**
 * Makes the modules and the server; informers may be started afterwards, since the modules have registered
 * what they follow.
 */
export async function openApplication(
  parts: ApiParts,
  limits: ServerLimits = LIMITS,
): Promise<ApiApplication> {
  const { config, log } = parts;
  const hosts = new RouteHosts(parts.clock, config.trustedProxies);
  const adapter = buildAdapter(config, limits, hosts);
  const application = await NestFactory.create<NestFastifyApplication>(ApiModule.with(parts), adapter, {
    logger: new NestLog(log),
    bodyParser: false,
    abortOnError: false,
  });
  // the adapter's instance is typed for its own copy of the server's types
  const server = adapter.getInstance<FastifyInstance>();
  hosts.follow(application.get(AgentRoutes, { strict: false }));
  // the server of the deployment limits the clients of requests that are routed to it
  const concerns = (request: IncomingMessage): boolean => !hosts.mayUpgrade(request);
  // an archive is stored as it comes, and may be large
  const limitsOf = ({ url }: IncomingMessage): ServerLimits | undefined =>
    url?.startsWith('/uploads/') ? { ...limits, bodyTotalMs: SERVER_LIMITS.bodyTotalMs } : undefined;
  limitServer(server.server, { limits, limitsOf, concerns, onCut: recordCuts(log, 'api') });
  observeRequests(server);
  guardServer(server);
  requireAccess(server);
  allowPages(server, config.corsOrigins);
  auditRequests(server, parts.audit);
  registerBodyParsers(server, {
    maxRawBytes: config.maxBodyBytes,
    budget: new Admission({
      capacity: config.maxBufferedBytes * SHARE_OF_BODIES,
      halves: true,
      refusal: BUSY,
    }),
    ownerOf,
  });
  countAnswers(server, { budget: application.get(AnswerBudget, { strict: false }), ownerOf });
  guardKeys(server, application.get<KeyRing>(KEY_RING, { strict: false }));
  const beginDrain = endConnectionsWhenClosing(server, hosts);
  answerNotBuilt(server);
  answerStatuses(server);
  shapeCatalogueErrors(server);
  const refuseOtherMethods = watchMethods(server);
  application.useGlobalFilters(new ErrorFilter(log, parts.clock));
  application.useGlobalGuards(new QueryGuard());
  application.useGlobalInterceptors(new SpeakVocabulary(reportIgnored(parts, application)));
  application.useGlobalPipes(new RequestPipe());
  return {
    name: 'http',
    ticks: new Ticks(application.get(SchedulerRegistry, { strict: false })),
    container: application,
    server: server.server,
    mayUpgrade: (request) => hosts.mayUpgrade(request),
    async listen({ host, port }) {
      await application.init();
      refuseOtherMethods();
      await application.listen(claimAddress({ host, port }));
      const address = server.server.address();
      return typeof address === 'object' && address !== null ? address.port : port;
    },
    async drain() {
      beginDrain();
      // a Service of Kubernetes keeps sending connections until every node has heard that this pod ends
      await parts.clock.sleep(config.drainMs);
    },
    stop: () => application.close(),
  };
}

function buildAdapter(
  { maxBodyBytes, trustedProxies }: ApiParts['config'],
  limits: ServerLimits,
  hosts: RouteHosts,
): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: maxBodyBytes,
    // spread over: the adapter takes no undefined
    ...(trustedProxies === undefined ? {} : { trustProxy: [...trustedProxies] }),
    serverFactory: (handle: RequestListener) => createRoutedServer(handle, limits, hosts),
    rewriteUrl: rewriteAddress,
    schemaController: SCHEMALESS,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 4_000 },
    frameworkErrors: (_error: unknown, _request: unknown, reply: unknown) => {
      const answer = reply as FastifyReply;
      protectAnswer(answer.raw);
      void answer.code(400).send({ detail: 'The path of the request cannot be decoded' });
    },
    // requests under way are answered while it closes; new ones on open connections are turned away
    return503OnClosing: true,
    forceCloseConnections: 'idle',
  });
}

/** A server that asks the routes first; other requests go to the framework. */
function createRoutedServer(handle: RequestListener, limits: ServerLimits, hosts: RouteHosts): Server {
  const server = createServer(
    {
      ...GUARDED_SERVER,
      ...serverOptions(limits),
      keepAliveTimeout: 72_000,
      // every other upgrade is handled as a request without one
      shouldUpgradeCallback: (request) => hosts.mayUpgrade(request),
    },
    (request, response) => {
      if (!hosts.take(request, response)) handle(request, response);
    },
  );
  server.on('upgrade', (request: IncomingMessage, client: Duplex, head: Buffer) =>
    hosts.upgrade(request, client, head),
  );
  return server;
}

/**
 * Ends connections when closing begins: one whose request was in flight would otherwise be kept alive, and
 * the server with it. So would one that browsers open ahead: without a first request it does not count as
 * idle. After the call of the returned function, each answer closes its connection.
 */
function endConnectionsWhenClosing(server: FastifyInstance, hosts: RouteHosts): () => void {
  let isClosing = false;
  const sockets = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.addHook('preClose', async () => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
    hosts.endUpgraded();
  });
  server.addHook('onSend', async (_request, reply) => {
    if (isClosing) void reply.header('connection', 'close');
  });
  return () => {
    isClosing = true;
    hosts.beginDrain();
  };
}
