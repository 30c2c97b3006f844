import { FIELD_MANAGER, RESOURCES } from '#lib/resources';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { runProgram, type ProgramContext } from '#lib/lifecycle';
import { createLogger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { buildServices } from './build-services.js';
import { loadApiConfig, type ApiConfig } from './config.js';
import { startTidying } from './trace/tidying.js';
import { startServer } from './server.js';

const log = createLogger('api');

async function start(context: ProgramContext): Promise<void> {
  const config: ApiConfig = loadApiConfig();
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'api', log }));
  const store = openTraceStore({
    uri: config.databaseUri,
    poolSize: config.databasePoolSize,
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => store.close() });
  await store.migrate();

  context.own(startTidying(store, systemClock, log));

  const connection = await loadKubeConnection({ kubeconfigPath: config.kubeconfig });
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.api });
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  const informers = new Informers({ client, log });
  const services = buildServices({ client, informers, store, config, log, clock: systemClock });
  context.own({ name: 'informers', stop: () => informers.stop() });
  informers.start();
  await informers.synced();

  const server = context.own(
    await startServer({
      host: config.host,
      port: config.port,
      maxBodyBytes: config.maxBodyBytes,
      services,
      log,
    }),
  );
  log.info({ host: config.host, port: server.port, kinds: Object.keys(RESOURCES).length }, 'listening');
  process.send?.({ kind: 'ready' });
}

runProgram({ log }, start);
