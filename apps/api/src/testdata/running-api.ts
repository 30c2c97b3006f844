import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AuditLog } from '#lib/audit-log';
import { createApiServer, type NodeLogDialer } from '#lib/embedded-kube';
import type { ServerLimits } from '#lib/http';
import { Informers, KubeClient, loadKubeConnection } from '#lib/kube';
import type { AddressMode } from '#lib/manifests';
import { REQUEST_ANSWER_MS } from '#lib/postgres';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  FIELD_MANAGER,
  NAMESPACES,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import { createLogger, type Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { type LakeOptions, openTraceStore, type TraceStore } from '#lib/trace-store';
import type { AttachmentStore } from '../core/attachment-store.js';
import { AttachmentTidying } from '../attachment/attachment-tidying.js';
import { openApplication } from '../open-application.js';
import { RetentionSync } from '../trace/retention-sync.js';
import { TraceIngestion } from '../trace/trace-ingestion.js';
import { type ApiDocument, undocumentedIn } from './check-exchange.js';

/** The operator key of every api under test. */
export const OPERATOR_KEY = 'apo_of-the-tests';

/** Origin of the pages that may read answers of every api under test. */
export const PAGE = 'https://pages.example';

/**
 * The whole api with a real store and a real API server behind it, for tests. Every exchange of `TestTenant.call` is
 * compared with the OpenAPI document.
 */
export interface RunningApi {
  readonly url: string;
  readonly storeUri: string;
  readonly store: TraceStore;
  readonly client: KubeClient;
  readonly services: {
    readonly ingestion: TraceIngestion;
    readonly attachmentTidying: AttachmentTidying;
    readonly retention: RetentionSync;
  };
  /** A workspace with its namespace and a key. */
  workspace(plan?: Workspace['spec']['plan']): Promise<TestTenant>;
  stop(): Promise<void>;
}

export interface TestTenant {
  readonly tenantId: string;
  readonly namespace: string;
  readonly key: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>;
}

export interface TestAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly json: any;
}

async function call(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<TestAnswer> {
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  let json: unknown;
  try {
    // JSON lines are no JSON, though one alone would be
    if (!response.headers.get('content-type')?.startsWith('application/x-ndjson')) json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: Object.fromEntries(response.headers), text, json };
}

/** Templates of the two databases (see `TestPostgres.freshDatabase`): what every start would do to empty ones. */
export async function prepareStore(uri: string): Promise<void> {
  const store = openTraceStore({ uri, log: createLogger('api-test', 'error'), clock: systemClock });
  await store.migrate();
  await store.close();
}

export async function prepareKube(uri: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'api-test-'));
  const log = createLogger('api-test', 'error');
  const kube = createApiServer({ databaseUri: uri, port: 0, pkiFolder: join(folder, 'pki'), log });
  await kube.start();
  const kubeconfigPath = join(folder, 'kubeconfig');
  await writeFile(kubeconfigPath, await kube.adminKubeconfig());
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
  await installDefinitions(client);
  await client.close();
  await kube.stop();
  await rm(folder, { recursive: true, force: true });
}

async function installDefinitions(client: KubeClient): Promise<void> {
  const { items } = await client.list(CUSTOM_RESOURCE_DEFINITIONS);
  if (items.length > 0) return;
  const folder = join(process.cwd(), 'crds');
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.yaml')) continue;
    const definition = parse(await readFile(join(folder, file), 'utf8')) as CustomResourceDefinition;
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition);
  }
}

export interface ApiOptions {
  readonly log?: Logger;
  readonly limits?: ServerLimits;
  /** Of the audit log; none is written without. */
  readonly auditPath?: string;
  /** Who answers logs of pods; without, no node does. */
  readonly nodeLogDialer?: NodeLogDialer;
  /** None are kept without. */
  readonly attachments?: AttachmentStore;
  readonly trustedProxies?: readonly string[];
  readonly drainMs?: number;
  readonly routeDomains?: readonly string[];
  /** Loopback where missing. */
  readonly addresses?: AddressMode;
  readonly maxUnfinishedExports?: number;
  /** Days are not sealed without. */
  readonly lake?: LakeOptions;
  /** Address of the store of the lake, for those who read its tables. */
  readonly lakeEndpoint?: string;
}

/** Specs call `testApi`, which makes the databases and stops the api after the tests. */
export async function runApi(
  storeUri: string,
  kubeUri: string,
  {
    log = createLogger('api-test', 'error'),
    limits,
    auditPath,
    attachments,
    nodeLogDialer,
    trustedProxies,
    drainMs = 0,
    routeDomains = [],
    addresses = 'loopback',
    maxUnfinishedExports = 1_000,
    lake,
    lakeEndpoint,
  }: ApiOptions = {},
): Promise<RunningApi> {
  const folder = await mkdtemp(join(tmpdir(), 'api-test-'));
  const kube = createApiServer({
    databaseUri: kubeUri,
    port: 0,
    pkiFolder: join(folder, 'pki'),
    log,
    ...(nodeLogDialer ? { nodeLogDialer } : {}),
  });
  await kube.start();
  const kubeconfigPath = join(folder, 'kubeconfig');
  await writeFile(kubeconfigPath, await kube.adminKubeconfig());
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), {
    fieldManager: FIELD_MANAGER.api,
  });
  await installDefinitions(client);

  const store = openTraceStore({
    uri: storeUri,
    answerMs: REQUEST_ANSWER_MS,
    lake,
    log,
    clock: systemClock,
  });
  await store.migrate();
  const informers = new Informers({ client, log });
  const config = {
    agentDatabaseImage: undefined,
    buildNamespace: 'agentplane-builds',
    drainMs,
    maxBodyBytes: 33_554_432,
    maxBufferedBytes: 134_217_728,
    allowPrivateEndpoints: true,
    exportWebhookPrivateAddresses: false,
    maxUnfinishedExports,
    operatorKey: OPERATOR_KEY,
    wrongKeysPerMinute: 100,
    corsOrigins: [PAGE],
    publicUrl: undefined,
    trustedProxies,
    routeDomains,
    addresses,
    tlsCertificate: undefined,
    tlsPort: 0,
    port: 8470,
    lake: lake ? ('on' as const) : ('off' as const),
    attachmentBucket: lake?.bucket,
    attachmentEndpoint: lakeEndpoint,
    attachmentRegion: undefined,
  };
  const audit =
    auditPath === undefined ? {} : { audit: new AuditLog({ path: auditPath, log, clock: systemClock }) };
  const parts = {
    ...audit,
    attachments,
    client,
    informers,
    store,
    config,
    log,
    clock: systemClock,
    random: Math.random,
  };
  const application = await openApplication(parts, limits);
  const services = {
    ingestion: application.container.get(TraceIngestion, { strict: false }),
    attachmentTidying: application.container.get(AttachmentTidying, { strict: false }),
    retention: application.container.get(RetentionSync, { strict: false }),
  };
  informers.start();
  await informers.synced();
  const port = await application.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${port}`;
  // what is served; to build it anew takes longer than everything else of a start
  const document = JSON.parse(await readFile('docs/openapi.json', 'utf8')) as ApiDocument;
  const documentedCall = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body: unknown,
  ): Promise<TestAnswer> => {
    const answer = await call(url + path, method, headers, body);
    const problems = undocumentedIn(document, {
      method,
      path,
      body,
      status: answer.status,
      answer: answer.json,
    });
    if (problems.length > 0) throw new Error(`not as documented:\n${problems.join('\n')}`);
    return answer;
  };

  return {
    url,
    storeUri,
    store,
    client,
    services,
    async workspace(plan = 'enterprise') {
      const tenantId = randomUUID();
      const name = `w${tenantId.slice(0, 8)}`;
      const namespace = workspaceNamespace(name);
      await client.create(NAMESPACES, { metadata: { name: namespace } });
      const made = await client.create(RESOURCES.Workspace, { metadata: { name }, spec: { tenantId, plan } });
      await informers.of(RESOURCES.Workspace).waitFor(made.metadata.resourceVersion ?? '');
      const { key } = await store.apiKeys.mint(tenantId, { name: 'test', scope: 'workspace' });
      return {
        tenantId,
        namespace,
        key,
        call: (method, path, body, headers = {}) =>
          documentedCall(method, path, { 'x-api-key': key, ...headers }, body),
      };
    },
    async stop() {
      await application.drain();
      await application.stop();
      await informers.stop();
      await client.close();
      await store.close();
      await kube.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
