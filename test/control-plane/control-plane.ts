import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { parseAllDocuments } from 'yaml';
import { startClusterControllers } from '#lib/cluster-controllers';
import { startObjectStore, type EmbeddedObjectStore, type FaultHook } from '#lib/embedded-object-store';
import { KubeClient, type KubeConnection, loadKubeConnection, type Untyped } from '#lib/kube';
import type { Stoppable } from '#lib/lifecycle';
import { LISTENER_KEY } from '#lib/manifests';
import { openPool } from '#lib/postgres';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ContainerStatus,
  CUSTOM_RESOURCE_DEFINITIONS,
  isConditionTrue,
  LABEL,
  listenerKeyName,
  NAMESPACES,
  type Pod,
  PODS,
  type ResourceRef,
  RESOURCES,
  ROLE_BINDINGS,
  ROLES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { temporaryFolder, testEmbeddedKube, testPostgres, waitFor } from '#lib/testing';
import { type LogLine, Program } from './program.js';

spawnSync(process.execPath, ['bin/build.js'], { stdio: ['ignore', 'ignore', 'inherit'] });

export const NAMESPACE = 'ws-default';
export const SYSTEM = 'agentplane-system';
const STORE_KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'secret' };
const MANIFEST_KINDS: readonly ResourceRef[] = [
  CUSTOM_RESOURCE_DEFINITIONS,
  NAMESPACES,
  SERVICE_ACCOUNTS,
  CLUSTER_ROLES,
  CLUSTER_ROLE_BINDINGS,
  ROLES,
  ROLE_BINDINGS,
];
const log = createLogger('test', process.env['TEST_LOG'] ?? 'silent');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** What the tests get to set up with. */
export interface Surroundings {
  /** Of the API server's administrator. */
  readonly kubeconfigPath: string;
  /** A database for traces, of a superuser. */
  readonly databaseUri: string;
  /** For kubeconfigs and the object store. */
  readonly folder: string;
  /** Variables of the controller, whenever it starts. */
  readonly controller?: Readonly<Record<string, string>>;
  /** Variables of REST, whenever it starts. */
  readonly api?: Readonly<Record<string, string>>;
  /** No listener is started: nothing is deployed. */
  readonly isForExports?: boolean;
  /** The API server is that of a cluster, whose own controllers make pods and remove what is left. */
  readonly isWholeCluster?: boolean;
}

/** Prepares a database of traces, once for all planes of a process. */
async function prepareTraces(uri: string): Promise<void> {
  const traces = openTraceStore({ uri, log, clock: systemClock });
  await traces.migrate();
  await traces.close();
}

/**
 * The databases of the control plane of a test file, to be called where `describe` is.
 * @param server an API server; an embedded one of its own when missing
 * @returns starts the plane; the caller stops it
 */
export function testControlPlane(
  server: { readonly kubeconfigPath: string } = testEmbeddedKube(),
  folder = temporaryFolder(),
): (more?: Partial<Surroundings>) => Promise<ControlPlane> {
  const postgres = testPostgres();
  return async (more = {}) => {
    const { uri: databaseUri } = await postgres.freshDatabase(prepareTraces);
    return await ControlPlane.start({ kubeconfigPath: server.kubeconfigPath, databaseUri, folder, ...more });
  };
}

/**
 * Controller and listener as processes with the rights that they have anywhere, the controllers that a cluster brings,
 * a trace store and an object store. There is no node: pods become ready, fail and end when a test says so.
 */
export class ControlPlane {
  readonly client: KubeClient;
  readonly traces: TraceStore;
  readonly tenantId = randomUUID();
  /** Decides the fate of each request to the object store of `local`. */
  fault: FaultHook | undefined;
  readonly #connection: KubeConnection;
  readonly #surroundings: Surroundings;
  readonly #programs = new Map<string, Program>();
  readonly #all: Program[] = [];
  #cluster: Stoppable | undefined;
  #store: EmbeddedObjectStore | undefined;

  static async start(surroundings: Surroundings): Promise<ControlPlane> {
    const { kubeconfigPath } = surroundings;
    const plane = new ControlPlane(await loadKubeConnection({ kubeconfigPath }), surroundings);
    await plane.#start();
    return plane;
  }

  private constructor(connection: KubeConnection, surroundings: Surroundings) {
    this.#connection = connection;
    this.#surroundings = surroundings;
    this.client = new KubeClient(connection, { fieldManager: 'test' });
    this.traces = openTraceStore({ uri: surroundings.databaseUri, log, clock: systemClock });
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#all.filter(({ isRunning }) => isRunning).map((program) => program.end('SIGKILL')),
    );
    await this.#cluster?.stop();
    await this.client.close();
    await this.traces.close();
    await this.#store?.stop();
  }

  /** The last one that was started under this name. */
  program(name: 'api' | 'controller' | 'listener'): Program {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`${name} was not started`);
    return program;
  }

  /** Of its traces, as a superuser. */
  get databaseUri(): string {
    return this.#surroundings.databaseUri;
  }

  /** Warnings and errors of every program that ran, also of those that were killed. */
  get complaints(): readonly LogLine[] {
    return this.#all.flatMap(({ complaints }) => complaints);
  }

  /** @param more variables of the process */
  async startController(more: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#kubeconfigOf({ namespace: SYSTEM, name: 'controller' });
    const { databaseUri } = this.#surroundings;
    const variables = {
      KUBECONFIG: this.#kubeconfigPath({ namespace: SYSTEM, name: 'controller' }),
      AGENTPLANE_DATABASE_URI: databaseUri,
      AGENTPLANE_DATABASE_ADMIN_URI: databaseUri,
      AGENTPLANE_API_URL: 'http://127.0.0.1:9',
      AGENTPLANE_ADDRESSES: 'cluster-dns',
      AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
      // the platform's own, which destinations without a Secret use where the workspace may
      AWS_ACCESS_KEY_ID: STORE_KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: STORE_KEYS.secretAccessKey,
      // one after the other: the next takes the lease of one that was killed over at once
      AGENTPLANE_IDENTITY: 'controller',
      AGENTPLANE_EXPORT_RETRIES: '1',
      AGENTPLANE_EXPORT_RETRY_DELAY_MS: '300',
      AGENTPLANE_EXPORT_CONCURRENT_RUNS: '2',
      ...this.#surroundings.controller,
      ...more,
    };
    const program = this.#keep('controller', () => new Program('controller', variables));
    await program.waitUntil('controllers work', 'the controller');
  }

  /**
   * @param more variables of the process
   * @returns where it listens
   */
  async startApi(more: Readonly<Record<string, string>> = {}): Promise<string> {
    const variables = {
      KUBECONFIG: await this.#kubeconfigOf({ namespace: SYSTEM, name: 'api' }),
      AGENTPLANE_DATABASE_URI: this.#surroundings.databaseUri,
      PORT: '0',
      ...this.#surroundings.api,
      ...more,
    };
    const program = this.#keep('api', () => new Program('api', variables));
    const said = () => program.log.find(({ msg }) => msg === 'listening');
    await waitFor(said, { what: 'the api' });
    return `http://127.0.0.1:${String(said()?.['port'])}`;
  }

  /** @param more variables of the process */
  async startListener(
    { readinessMs = 60_000, standbyWarmMs = 200, namespace = NAMESPACE } = {},
    more: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const account = { namespace, name: 'listener-default' };
    await waitFor(() => this.client.find(SERVICE_ACCOUNTS, account));
    const ofKey = { namespace, name: listenerKeyName('default') };
    const { data } = await waitFor(() => this.client.find(SECRETS, ofKey));
    const variables = {
      KUBECONFIG: await this.#kubeconfigOf(account),
      AGENTPLANE_LISTENER: 'default',
      AGENTPLANE_IDLE_KEY: Buffer.from(data?.[LISTENER_KEY] ?? '', 'base64').toString('utf8'),
      AGENTPLANE_HOME_NAMESPACE: namespace,
      AGENTPLANE_NAMESPACES: namespace,
      AGENTPLANE_API_URL: 'http://127.0.0.1:9',
      AGENTPLANE_ADDRESSES: 'cluster-dns',
      AGENTPLANE_HEARTBEAT_MS: '1000',
      AGENTPLANE_READINESS_MS: String(readinessMs),
      AGENTPLANE_RETIRE_MS: '200',
      AGENTPLANE_STANDBY_WARM_MS: String(standbyWarmMs),
      ...more,
    };
    const program = this.#keep('listener', () => new Program('listener', variables));
    await program.waitUntil('controllers work', 'the listener');
  }

  /** The pods of a revision, or of the Job of an export's attempt, that are not being deleted. */
  async pods(labelSelector: string, namespace = NAMESPACE): Promise<readonly Pod[]> {
    const { items } = await this.client.list(PODS, { namespace, labelSelector });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  podsOf(revision: string): Promise<readonly Pod[]> {
    return this.pods(`${LABEL.revision}=${revision}`);
  }

  /** What a node would say of the pods of a revision. */
  async report(
    revision: string,
    container: Partial<ContainerStatus> & { readonly ready: boolean },
  ): Promise<void> {
    const [pod] = await waitFor(async () => {
      const pods = await this.podsOf(revision);
      return pods.length > 0 && pods;
    });
    if (pod) await this.reportPod(pod, container);
  }

  async reportPod(
    { metadata: { namespace = '', name }, spec }: Pod,
    container: Partial<ContainerStatus> & { readonly ready: boolean },
    phase: 'Running' | 'Failed' | 'Succeeded' = 'Running',
  ): Promise<void> {
    const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const [first] = spec.containers;
    const defaults = { name: first?.name ?? '', image: first?.image ?? '', imageID: '', restartCount: 0 };
    await this.client.mergeStatus(
      PODS,
      { namespace, name },
      {
        status: {
          phase,
          conditions: ['ContainersReady', 'Ready'].map((type) => ({
            type,
            status: container.ready ? ('True' as const) : ('False' as const),
            lastTransitionTime: at,
          })),
          containerStatuses: [{ ...defaults, ...container }],
        },
      },
    );
  }

  /** Sets limits of the workspace, or lifts them, and waits until the controller knows of it. */
  async limitWorkspace(limits: object | null): Promise<void> {
    const key = { name: 'default' };
    const { metadata } = await this.client.merge(RESOURCES.Workspace, key, { spec: { limits } });
    await waitFor(
      async () =>
        (await this.client.get(RESOURCES.Workspace, key)).status?.observedGeneration === metadata.generation,
      { what: 'the controller to know the limits of the workspace' },
    );
  }

  /** Starts a program, and again whenever it has ended because the machine stood still: anywhere, a supervisor does so. */
  #keep(name: string, start: () => Program): Program {
    const program = start();
    this.#programs.set(name, program);
    this.#all.push(program);
    void program.endedForSilence().then((hasEnded) => hasEnded && this.#keep(name, start));
    return program;
  }

  async #start(): Promise<void> {
    await this.#applyManifests();
    await this.traces.migrate();
    await this.#closeDatabases();
    if (!this.#surroundings.isWholeCluster)
      this.#cluster = await startClusterControllers({ connection: this.#connection, log });
    await this.client.create(RESOURCES.Workspace, {
      metadata: { name: 'default' },
      spec: { tenantId: this.tenantId, plan: 'enterprise' },
    });
    await this.startController();
    await waitFor(async () =>
      isConditionTrue(
        (await this.client.get(RESOURCES.Workspace, { name: 'default' })).status?.conditions,
        'Ready',
      ),
    );
    await this.#addDestination();
    if (this.#surroundings.isForExports) return;
    await this.client.create(RESOURCES.Listener, {
      metadata: { namespace: NAMESPACE, name: 'default' },
      spec: { computeType: 'cluster', computeId: 'here' },
    });
    await this.startListener();
  }

  /** As the administrator of a shared server does: nobody but owners may connect. */
  async #closeDatabases(): Promise<void> {
    const pool = openPool({ uri: this.#surroundings.databaseUri, applicationName: 'test', log });
    for (const name of await this.traces.openDatabases())
      await pool.query(`REVOKE CONNECT, TEMPORARY ON DATABASE "${name}" FROM PUBLIC`);
    await pool.end();
  }

  async #applyManifests(): Promise<void> {
    const files = [
      ...readdirSync('crds').map((name) => join('crds', name)),
      join('deploy', 'system.yaml'),
    ].filter((name) => name.endsWith('.yaml'));
    for (const file of files)
      for (const document of parseAllDocuments(readFileSync(file, 'utf8'))) {
        const object = document.toJS() as { kind: string; metadata: { name: string } };
        const ref = MANIFEST_KINDS.find(({ kind }) => kind === object.kind);
        if (!ref) throw new Error(`${file} holds a ${object.kind}`);
        await this.client.apply<Untyped>(ref as ResourceRef<Untyped>, object);
      }
    for (const ref of Object.values<ResourceRef>(RESOURCES))
      await waitFor(() => this.client.list(ref as ResourceRef<Untyped>).then(() => true));
  }

  /** `local`: a bucket in an object store that is there. */
  async #addDestination(): Promise<void> {
    this.#store = await startObjectStore({
      folder: join(this.#surroundings.folder, 'store'),
      host: '127.0.0.1',
      port: 0,
      log,
      ...STORE_KEYS,
      buckets: ['exports'],
      fault: (target) => this.fault?.(target),
    });
    const data = {
      access_key_id: base64(STORE_KEYS.accessKeyId),
      secret_access_key: base64(STORE_KEYS.secretAccessKey),
    };
    await this.client.create(SECRETS, { metadata: { namespace: NAMESPACE, name: 'store' }, data });
    await this.client.create(RESOURCES.BulkExportDestination, {
      metadata: { namespace: NAMESPACE, name: 'local' },
      spec: {
        type: 'object_store',
        config: { bucketName: 'exports', endpointUrl: this.#store.endpoint, includeBucketInPrefix: true },
        credentialsSecretRef: { name: 'store' },
      },
    });
  }

  #kubeconfigPath(account: { readonly namespace: string; readonly name: string }): string {
    return join(this.#surroundings.folder, `${account.namespace}.${account.name}.kubeconfig`);
  }

  async #kubeconfigOf(account: { readonly namespace: string; readonly name: string }): Promise<string> {
    const { token } = await this.client.createToken(account);
    const { server, ca, insecureSkipTlsVerify } = this.#connection;
    const trust = insecureSkipTlsVerify
      ? { 'insecure-skip-tls-verify': true }
      : { 'certificate-authority-data': base64(ca ?? '') };
    const path = this.#kubeconfigPath(account);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server, ...trust } }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: account.namespace } }],
      'current-context': 'x',
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  }
}
