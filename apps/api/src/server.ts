import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Stoppable } from '#lib/lifecycle';
import { type Logger, observeRequests } from '#lib/telemetry';
import { ApiModule } from './api-module.js';
import type { Services } from './services.js';
import { guardKeys } from './tenancy/key-guard.js';
import { registerBodyParsers } from './wire/body-parsers.js';
import { ErrorFilter } from './wire/error-filter.js';
import { watchMethods } from './wire/method-not-allowed.js';
import { RequestPipe } from './wire/request-pipe.js';

export interface ServerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly maxBodyBytes: number;
  readonly services: Services;
  readonly log: Logger;
}

/** The HTTP server, listening. */
export interface ApiServer extends Stoppable {
  readonly port: number;
}

/** A slow client holds a connection for so long, no longer. */
const HEADERS_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 120_000;

/** Builds the server and listens. */
export async function startServer(options: ServerOptions): Promise<ApiServer> {
  const { services, log } = options;
  const adapter = new FastifyAdapter({
    bodyLimit: options.maxBodyBytes,
    connectionTimeout: IDLE_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: 72_000,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 4_000 },
    // requests under way are answered while it closes; new ones on open connections are turned away
    frameworkErrors: (_error: unknown, _request: unknown, reply: unknown) => {
      const answer = reply as FastifyReply;
      void answer.code(400).send({ detail: 'The path of the request cannot be decoded' });
    },
    return503OnClosing: true,
    forceCloseConnections: 'idle',
  });
  // the adapter's instance is typed for its own copy of the server's types
  const server = adapter.getInstance<FastifyInstance>();
  server.server.headersTimeout = HEADERS_TIMEOUT_MS;
  observeRequests(server);
  registerBodyParsers(server, options.maxBodyBytes);
  guardKeys(server, services.keyRing);
  endConnectionsWhenClosing(server);
  const refuseOtherMethods = watchMethods(server);

  const application = await NestFactory.create<NestFastifyApplication>(ApiModule.with(services), adapter, {
    logger: false,
    bodyParser: false,
    abortOnError: false,
  });
  application.useGlobalFilters(new ErrorFilter(log));
  application.useGlobalPipes(new RequestPipe());
  await application.init();
  refuseOtherMethods();
  await application.listen(options.port, options.host);
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return { name: 'http', port, stop: () => application.close() };
}

/** A connection whose request was under way when closing began would otherwise be kept alive, and the server with it. */
function endConnectionsWhenClosing(server: FastifyInstance): void {
  let isClosing = false;
  server.addHook('preClose', async () => {
    isClosing = true;
  });
  server.addHook('onSend', async (_request, reply) => {
    if (isClosing) void reply.header('connection', 'close');
  });
}
