import { AuditLog } from '#lib/audit-log';
import { ConfigError } from '#lib/config';
import { errorText } from '#lib/errors';
import { FIELD_MANAGER, RESOURCES } from '#lib/resources';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import { runProgram, type ProgramContext } from '#lib/lifecycle';
import { awaitDatabase, REQUEST_ANSWER_MS } from '#lib/postgres';
import { createLogger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import {
  checkDaysAreReadable,
  type ModelPrice,
  openLake,
  openTraceStore,
  readModelPrices,
  warnOfOpenDatabases,
} from '#lib/trace-store';
import { openAttachmentStore } from './core/attachment-store.js';
import { loadApiConfig, type ApiConfig } from './config.js';
import { type ApiApplication, openApplication } from './open-application.js';

const log = createLogger('api');

/** Serves other machines, if a certificate is given; answers the port. */
async function serveTls(
  context: ProgramContext,
  { tlsCertificate, tlsKey, tlsHost: host, tlsPort: port }: ApiConfig,
  { server: behind, mayUpgrade }: ApiApplication,
): Promise<number | undefined> {
  if (tlsCertificate === undefined && tlsKey === undefined) return undefined;
  if (tlsCertificate === undefined || tlsKey === undefined)
    throw new ConfigError(['AGENTPLANE_TLS_CERTIFICATE and AGENTPLANE_TLS_KEY belong together: set both']);
  const { TlsFront } = await import('./tls-front.js');
  const files = { certificate: tlsCertificate, key: tlsKey };
  const front = new TlsFront({ address: { host, port }, files, behind, mayUpgrade, log, clock: systemClock });
  context.own(front);
  return front.listen();
}

async function pricesOf({ modelPrices }: ApiConfig): Promise<readonly ModelPrice[] | undefined> {
  try {
    return modelPrices === undefined ? undefined : await readModelPrices(modelPrices);
  } catch (error) {
    throw new ConfigError([`AGENTPLANE_MODEL_PRICES: ${errorText(error)}`]);
  }
}

async function start(context: ProgramContext): Promise<void> {
  const config: ApiConfig = loadApiConfig();
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'api', log }));
  const store = openTraceStore({
    program: 'api',
    uri: config.databaseUri,
    poolSize: config.databasePoolSize,
    answerMs: REQUEST_ANSWER_MS,
    maxProjects: config.maxProjects,
    maxDatasets: config.maxDatasets,
    maxDatasetBytes: config.maxDatasetBytes,
    maxApiKeys: config.maxKeys,
    maxAttachmentBytes: config.maxAttachmentBytes,
    modelPrices: await pricesOf(config),
    lake: openLake(config),
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => store.close() });
  await awaitDatabase({ log, clock: systemClock }, async () => {
    await store.migrate();
    await warnOfOpenDatabases(store, log);
    await checkDaysAreReadable(store);
  });

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
    client,
    informers,
    store,
    attachments,
    config,
    log,
    ...(audit ? { audit } : {}),
    clock: systemClock,
    random: Math.random,
  });
  context.own({ name: 'informers', stop: () => informers.stop() });
  informers.start();
  await informers.synced();

  context.own(application);
  const port = await application.listen(config);
  context.own(application.ticks).start();
  const tlsPort = await serveTls(context, config, application);
  // before what serves with TLS ends, too
  context.own({ name: 'drain', stop: () => application.drain() });
  log.info({ host: config.host, port, tlsPort, kinds: Object.keys(RESOURCES).length }, 'listening');
  process.send?.({ kind: 'ready' });
}

runProgram({ log }, start);
