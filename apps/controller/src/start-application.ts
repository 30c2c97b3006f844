import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { claimAddress } from '#lib/held-sockets';
import { limitServer, SCHEMALESS, serverOptions } from '#lib/http';
import { type ControllerSpec, startControllers } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { NestLog, Ticks } from '#lib/nest';
import { awaitDatabase } from '#lib/postgres';
import { recordCuts } from '#lib/telemetry';
import { checkDaysAreReadable } from '#lib/trace-store';
import { agentControllers } from './agent-controllers.js';
import { LeftUploads } from './bulk-export-run/left-uploads.js';
import { ControllerModule, type WiredParts } from './controller-module.js';
import { exportControllers } from './export-controllers.js';
import { ScheduleTicks } from './export-schedule/schedule-reconciler.js';
import { Readiness } from './health/readiness.js';
import { openParts, type Parts, type Surroundings } from './parts.js';

/** Everything that the program makes before anything is started. */
export interface Application extends WiredParts {
  readonly parts: Parts;
  readonly controllers: readonly ControllerSpec[];
}

/** Makes the application; reaches nothing. */
export async function makeApplication(surroundings: Surroundings): Promise<Application> {
  const parts = await openParts(surroundings);
  const { systemNamespace, allowPrivateEndpoints } = parts.config;
  const uploads = new LeftUploads({ ...parts, systemNamespace, allowPrivateEndpoints });
  const ticks = new ScheduleTicks(parts.exports);
  const controllers = [...agentControllers(parts), ...exportControllers(parts, uploads, ticks)];
  return { parts, uploads, ticks, controllers, readiness: new Readiness(parts.informers, parts.leader) };
}

/**
 * Starts in order: schema, caches, leadership, work; `context` stops them in reverse. Resolves when it
 * works.
 */
async function startWork(application: Application, context: ProgramContext): Promise<void> {
  const { parts, controllers, readiness, uploads } = application;
  const { client, traceStore, events, informers, leader, log, clock } = parts;
  context.signal.addEventListener('abort', () => readiness.enter('stopping'));
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  context.own({ name: 'trace store', stop: () => traceStore.close() });
  await awaitDatabase({ log, clock }, async () => {
    await traceStore.migrate();
    await checkDaysAreReadable(traceStore);
  });

  context.own({ name: 'events', stop: () => events.flush() });
  readiness.enter('caches');
  const running = context.own(
    await startControllers({ informers, controllers, log, clock, leader, reporting: { client, events } }),
  );
  readiness.enter('leadership');
  await running.working;
  context.own({ name: 'left uploads', stop: () => uploads.stop() });
  readiness.enter('working');
}

/**
 * Makes the application, answers probes from then on, and starts the work. Nest's own shutdown hooks stay off: `context`
 * alone takes signals, and it closes the server last, so that probes are answered while the work drains.
 */
export async function startApplication(surroundings: Surroundings, context: ProgramContext): Promise<void> {
  const { config, log } = surroundings;
  const made = await makeApplication(surroundings);
  const application = await NestFactory.create<NestFastifyApplication>(
    ControllerModule.with(made),
    new FastifyAdapter({ forceCloseConnections: true, http: serverOptions(), schemaController: SCHEMALESS }),
    { logger: new NestLog(log), bodyParser: false, abortOnError: false },
  );
  limitServer(application.getHttpServer(), { onCut: recordCuts(log, 'internal') });
  context.own({ name: 'internal server', stop: () => application.close() });
  const { internalHost: host, internalPort } = config;
  await application.listen(claimAddress({ host, port: internalPort }));
  const address = application.getHttpServer().address();
  const port = typeof address === 'object' && address !== null ? address.port : config.internalPort;
  log.info({ host: config.internalHost, port }, 'health, readiness and metrics are served');
  await startWork(made, context);
  const ticks = new Ticks(application.get(SchedulerRegistry, { strict: false }));
  ticks.start();
  context.own(ticks);
}
