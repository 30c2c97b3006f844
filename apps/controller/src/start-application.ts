import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { claimAddress } from '#lib/held-sockets';
import { limitServer, SCHEMALESS, serverOptions } from '#lib/http';
import type { ProgramContext } from '#lib/lifecycle';
import { NestLog, Ticks } from '#lib/nest';
import { recordCuts } from '#lib/telemetry';
import { ControllerModule } from './controller-module.js';
import { ControllerWork } from './controller-work.js';
import type { Surroundings } from './core/core-module.js';

/**
 * Makes the application, answers probes from then on, and starts the work. Nest's own shutdown hooks stay off: `context`
 * alone takes signals, and it closes the server last, so that probes are answered while the work drains.
 */
export async function startApplication(surroundings: Surroundings, context: ProgramContext): Promise<void> {
  const { config, log } = surroundings;
  const application = await NestFactory.create<NestFastifyApplication>(
    ControllerModule.with(surroundings),
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
  await application.get(ControllerWork).start(context);
  const ticks = new Ticks(application.get(SchedulerRegistry, { strict: false }));
  ticks.start();
  context.own(ticks);
}
