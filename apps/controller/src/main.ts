import { loadConfig } from '#lib/config';
import type { ExportLimits } from '#lib/export-plan';
import {
  EventRecorder,
  Informers,
  KubeClient,
  LeaderElector,
  loadKubeConnection,
  startControllers,
} from '#lib/kube';
import { EXIT, type ProgramContext, runProgram } from '#lib/lifecycle';
import { FIELD_MANAGER } from '#lib/resources';
import { createLogger, type Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { openCaches } from './caches.js';
import { CONFIG, type ControllerConfig } from './config.js';
import { buildControllers } from './controllers.js';

function limitsOf(config: ControllerConfig): ExportLimits {
  return {
    retries: config.exportRetries,
    retryDelayMs: config.exportRetryDelayMs,
    runTimeoutMs: config.exportRunTimeoutMs,
    exportTimeoutMs: config.exportTimeoutMs,
    concurrentRunsPerExport: config.concurrentRunsPerExport,
    concurrentExportsPerWorkspace: config.concurrentExportsPerWorkspace,
  };
}

/** In order: schema, caches, leadership, work; `context` stops them in reverse. */
async function start(config: ControllerConfig, log: Logger, context: ProgramContext): Promise<void> {
  const clock = systemClock;
  const connection = await loadKubeConnection(
    config.kubeconfigPath === undefined ? {} : { kubeconfigPath: config.kubeconfigPath },
  );
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.controller });
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  const traceStore = openTraceStore({ uri: config.databaseUri, poolSize: 4, log, clock });
  context.own({ name: 'trace store', stop: () => traceStore.close() });
  await traceStore.migrate();

  const events = new EventRecorder({ client, component: FIELD_MANAGER.controller, log, clock });
  context.own({ name: 'events', stop: () => events.flush() });
  const informers = new Informers({ client, log, clock });
  const leader = new LeaderElector({
    connection,
    lease: { namespace: config.systemNamespace, name: 'agentplane-controller' },
    identity: config.identity,
    log,
    clock,
    onLost: (why) => context.stop(EXIT.failed, why),
  });
  const { version, apiUrl, addresses, imagePrefix, allowPrivateEndpoints } = config;
  const controllers = buildControllers({
    client,
    informers,
    caches: openCaches(informers),
    events,
    clock,
    traceStore,
    settings: { version, apiUrl, addresses, imagePrefix, allowPrivateEndpoints },
    limits: limitsOf(config),
    systemNamespace: config.systemNamespace,
    databaseUri: config.databaseUri,
    databaseAdminUri: config.databaseAdminUri,
    imageStore: config.imageStore,
  });
  const running = context.own(await startControllers({ informers, controllers, log, clock, leader }));
  await running.working;
}

const log = createLogger('controller');
runProgram({ log }, async (context) => {
  const config = loadConfig(CONFIG);
  log.level = config.logLevel;
  await start(config, log, context);
});
