import { AuditLog } from '#lib/audit-log';
import { FIELD_MANAGER, RESOURCES } from '#lib/resources';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { runProgram, type ProgramContext } from '#lib/lifecycle';
import { createLogger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { openAttachmentStore } from './core/attachment-store.js';
import { loadApiConfig, type ApiConfig } from './config.js';
import { openApplication } from './open-application.js';

const log = createLogger('api');

async function start(context: ProgramContext): Promise<void> {
  const config: ApiConfig = loadApiConfig();
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'api', log }));
  const store = openTraceStore({
    uri: config.databaseUri,
    poolSize: config.databasePoolSize,
    maxProjects: config.maxProjects,
    maxDatasets: config.maxDatasets,
    maxDatasetBytes: config.maxDatasetBytes,
    maxApiKeys: config.maxKeys,
    maxAttachmentBytes: config.maxAttachmentBytes,
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => store.close() });
  await store.migrate();

  const connection = await loadKubeConnection({ kubeconfigPath: config.kubeconfig });
  const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.api });
  context.own({ name: 'kubernetes client', stop: () => client.close() });
  const informers = new Informers({ client, log });
  const { auditLog: path } = config;
  const audit = path === undefined ? undefined : new AuditLog({ path, log, clock: systemClock });
  if (audit) context.own({ name: 'audit log', stop: async () => audit.close() });
  const attachments = openAttachmentStore(config);
  if (attachments)
    for (const one of [attachments.objects, attachments.downloads])
      context.own({ name: 'store of attachments', stop: async () => one.close() });
  const application = await openApplication({
    ...{ client, informers, store, attachments, config, log, ...(audit ? { audit } : {}) },
    clock: systemClock,
    random: Math.random,
  });
  context.own({ name: 'informers', stop: () => informers.stop() });
  informers.start();
  await informers.synced();

  context.own(application);
  const port = await application.listen(config);
  context.own(application.ticks).start();
  log.info({ host: config.host, port, kinds: Object.keys(RESOURCES).length }, 'listening');
  process.send?.({ kind: 'ready' });
}

runProgram({ log }, start);
