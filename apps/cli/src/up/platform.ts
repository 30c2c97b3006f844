import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#lib/embedded-postgres';
import { openImageStore } from '#lib/image-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { FIELD_MANAGER, workspaceNamespace } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import {
  newStoreKeys,
  type PlatformCredentials,
  readCredentials,
  type StoreCredentials,
  writeCredentials,
} from '../data-folder/credentials.js';
import { type DataFolder, installedVersion } from '../data-folder/data-folder.js';
import { choosePorts, keepPorts, type Ports, requireFreePorts } from '../data-folder/ports.js';
import { adoptKubeconfig } from './adopt-kubeconfig.js';
import { applyDefinitions, applyManifests, writeServiceAccountKubeconfig } from './apply-manifests.js';
import { FIRST_WORKSPACE, resourceDefinitions, systemObjects } from './bootstrap-objects.js';
import { Child } from './child.js';
import {
  apiEnvironment,
  controllerEnvironment,
  embeddedEnvironment,
  type Surroundings,
} from './child-environment.js';
import {
  ensureFirstWorkspace,
  fillFirstWorkspace,
  namespaceOfFirstWorkspace,
  waitForFirstWorkspace,
} from './first-workspace.js';
import type { Progress } from './progress.js';
import { ProcessRecords } from './strays.js';
import type { UpOptions } from './up-options.js';

const BUCKET = 'agentplane';
const REGION = 'us-east-1';
const SAMPLE_AGENT = 'sample-agent';
const START_MS = 60_000;
/** Postgres sees to its own port: it may still run, from an earlier start. */
const OWN_SERVERS = ['rest', 'objectStore', 'node'] as const;
const ALL_SERVERS = [...OWN_SERVERS, 'kube'] as const;
/**
 * A small nursery: idle programs keep what they once needed, and 4 MB instead of 16 saves a third of each one's memory.
 */
const NODE_OPTIONS = ['--enable-source-maps', '--max-semi-space-size=4'];

export interface PlatformParts {
  readonly options: UpOptions;
  readonly folder: DataFolder;
  readonly installation: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: Progress;
  readonly context: ProgramContext;
}

/** Whether a child says that it serves. */
function isReadyMessage(message: unknown): true | undefined {
  return typeof message === 'object' && message !== null && 'kind' in message && message.kind === 'ready'
    ? true
    : undefined;
}

/**
 * The platform on one machine, in the order of its dependencies: Postgres, the embedded servers, the platform's kinds and
 * rights, api and controller, the first workspace. Everything owned is stopped in the reverse order, so an agent that
 * ends can still send its traces.
 */
export class Platform {
  readonly #parts: PlatformParts;
  readonly #records: ProcessRecords;

  constructor(parts: PlatformParts) {
    this.#parts = parts;
    this.#records = new ProcessRecords(parts.folder.paths.children);
  }

  /** Starts everything; answers what its user needs. */
  async start(): Promise<PlatformCredentials> {
    const { folder, options, clock, log, progress, context } = this.#parts;
    const { paths } = folder;
    const known = readCredentials(paths.credentials);
    if (options.kubeconfigPath !== undefined)
      adoptKubeconfig(options.kubeconfigPath, paths.kubeconfig, workspaceNamespace(FIRST_WORKSPACE));
    const ports = await choosePorts(paths.ports, options.port);
    await this.#records.endStrays(clock, log);
    const names = options.kubeconfigPath === undefined ? ALL_SERVERS : OWN_SERVERS;
    await requireFreePorts(ports, names, { host: options.host, path: paths.ports, clock });
    keepPorts(paths.ports, ports);
    progress.say('starting Postgres');
    const postgres = await this.#startPostgres(ports.postgres);
    const surroundings = await this.#surroundings(postgres, ports, known);
    const importing = this.#importSampleAgent();
    progress.say('starting the API server, the node and the object store');
    // stopped last of the programs: agents send their last traces to it
    const api = context.own(this.#child('api', {}));
    const embedded = this.#child('embedded', embeddedEnvironment(surroundings));
    const serving = embedded.message(isReadyMessage, START_MS);
    context.own(embedded).start();
    const tenantId = known?.tenantId ?? randomUUID();
    const hopeless = embedded.hopeless();
    const [apiKey] = await Promise.race([
      Promise.all([this.#apiKey(surroundings, tenantId, known), serving]),
      hopeless,
    ]);
    await importing;
    return await Promise.race([
      this.#startPrograms({ surroundings, tenantId, apiKey, api }),
      hopeless,
      api.hopeless(),
    ]);
  }

  /** Owned from before it runs: whoever interrupts its start must not leave a server behind. */
  async #startPostgres(port: number): Promise<EmbeddedPostgres> {
    const { folder, clock, log, context } = this.#parts;
    const starting = startEmbeddedPostgres({ dataDir: folder.paths.root, port, clock, log });
    context.own({
      name: 'postgres',
      stop: async () => {
        const started = await starting.catch(() => undefined); // that it failed is told where it is waited for
        await started?.stop();
      },
    });
    const postgres = await starting;
    context.signal.throwIfAborted();
    return postgres;
  }

  async #startPrograms(started: {
    surroundings: Surroundings;
    tenantId: string;
    apiKey: string;
    api: Child;
  }): Promise<PlatformCredentials> {
    const { surroundings, api } = started;
    const { folder, installation, clock, progress, context } = this.#parts;
    const { paths } = folder;
    const connection = await loadKubeConnection({ kubeconfigPath: surroundings.kubeconfigPath });
    const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.up });
    progress.say('applying the kinds of the platform');
    await Promise.all([
      applyDefinitions(client, resourceDefinitions(installation), clock),
      applyManifests(client, systemObjects(installation)),
    ]);
    const tenantId = await ensureFirstWorkspace(client, started.tenantId, clock);
    const kubeconfigOf = async (name: string): Promise<string> => {
      const path = join(paths.kube, `${name}.kubeconfig`);
      await writeServiceAccountKubeconfig(client, connection, { namespace: 'agentplane-system', name }, path);
      return path;
    };
    progress.say('starting api and controller');
    const [apiKubeconfig, controllerKubeconfig] = await Promise.all(['api', 'controller'].map(kubeconfigOf));
    api.environment = apiEnvironment(surroundings, apiKubeconfig ?? '');
    const listening = api.message(isReadyMessage, START_MS);
    listening.catch(() => undefined); // looked at below
    api.start();
    const controller = this.#child(
      'controller',
      controllerEnvironment(surroundings, controllerKubeconfig ?? ''),
    );
    context.own(controller).start();
    progress.say('preparing the first workspace');
    const namespace = await namespaceOfFirstWorkspace(client, clock);
    await fillFirstWorkspace(client, namespace, surroundings.store);
    const credentials: PlatformCredentials = {
      restUrl: surroundings.apiUrl,
      apiKey: started.apiKey,
      tenantId,
      kubeconfig: surroundings.kubeconfigPath,
      objectStore: surroundings.store,
    };
    writeCredentials(paths.credentials, credentials);
    await Promise.all([waitForFirstWorkspace(client, namespace, clock), listening]);
    await client.close();
    return credentials;
  }

  #child(name: string, environment: Readonly<Record<string, string>>): Child {
    const { folder, installation, clock, log } = this.#parts;
    return new Child({
      name,
      program: join(installation, 'dist', 'apps', name, 'src', 'main.js'),
      environment,
      nodeOptions: NODE_OPTIONS,
      logFile: join(folder.paths.logs, `${name}.log`),
      stopMs: 15_000,
      clock,
      log,
      onProcess: (identity) => this.#records.set(name, identity),
    });
  }

  async #surroundings(
    postgres: EmbeddedPostgres,
    ports: Ports,
    known: PlatformCredentials | undefined,
  ): Promise<Surroundings> {
    const { options, folder, installation } = this.#parts;
    const { paths } = folder;
    const isOwnCluster = options.kubeconfigPath !== undefined;
    const [databaseUri, databaseAdminUri, kubeDatabaseUri] = await Promise.all([
      postgres.ensureDatabase({ database: 'agentplane', role: 'agentplane', connectionLimit: 60 }),
      postgres.ensureAdministrator({ role: 'deployments', connectionLimit: 5 }),
      isOwnCluster
        ? undefined
        : postgres.ensureDatabase({ database: 'kube', role: 'kube', connectionLimit: 10 }),
    ]);
    const store: StoreCredentials = {
      endpoint: `http://127.0.0.1:${ports.objectStore}`,
      region: REGION,
      bucket: BUCKET,
      ...(known
        ? { accessKeyId: known.objectStore.accessKeyId, secretAccessKey: known.objectStore.secretAccessKey }
        : newStoreKeys()),
    };
    const host = options.host.includes(':') ? `[${options.host}]` : options.host;
    return {
      ...{
        paths,
        ports,
        installation,
        host: options.host,
        databaseUri,
        databaseAdminUri,
        kubeDatabaseUri,
        store,
      },
      version: installedVersion(installation),
      kubeconfigPath: paths.kubeconfig,
      apiUrl: `http://${host}:${ports.rest}`,
    };
  }

  /** The first key of the first workspace: minted once, then read from the credentials. */
  async #apiKey(
    { databaseUri }: Surroundings,
    tenantId: string,
    known: PlatformCredentials | undefined,
  ): Promise<string> {
    const { clock, log } = this.#parts;
    const store = openTraceStore({ uri: databaseUri, poolSize: 2, log, clock });
    try {
      await store.migrate();
      if (known && (await store.apiKeys.verify(known.apiKey))) return known.apiKey;
      const minted = await store.apiKeys.mint(tenantId, { name: 'first key', kind: 'person' });
      return minted.key;
    } finally {
      await store.close();
    }
  }

  async #importSampleAgent(): Promise<void> {
    const { folder, installation } = this.#parts;
    const images = openImageStore({ folder: folder.paths.images, installation });
    await images.import(SAMPLE_AGENT, join(installation, 'examples', 'agent'));
  }
}
