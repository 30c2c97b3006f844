import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type PlatformCredentials,
  readCredentials,
  type StoreCredentials,
  type TlsAddress,
  writeCredentials,
} from '#lib/data-folder';
import { inheritedEnvironment } from '#lib/config';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#lib/embedded-postgres';
import type { HeldSockets } from '#lib/held-sockets';
import type { ProgramContext } from '#lib/lifecycle';
import { type Logger, type Program, startTelemetry } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { urlHost } from '#lib/url';
import { type DataFolder, newOperatorKey } from '../data-folder/data-folder.js';
import { choosePorts, holdPorts, keepPorts, type Ports, requireFreePorts } from '../data-folder/ports.js';
import { type FirstKey, type OlderKey, PLATFORM_ROLES } from '../preparation/preparation-tasks.js';
import { Child, LogRotation, observeProgram, ProcessRecords } from './child.js';
import {
  apiEnvironment,
  controllerEnvironment,
  embeddedEnvironment,
  FRUGAL_MEMORY,
  hostForOthers,
  metricsAddresses,
  programEnvironment,
  type Surroundings,
  type TlsListening,
  tlsUrl,
} from './child-environment.js';
import { Preparation, type Progress } from './preparation.js';
import type { UpOptions } from './up-options.js';

const BUCKET = 'agentplane';
const REGION = 'us-east-1';
const START_MS = 60_000;
/** Postgres sees to its own port: it may still run, from an earlier start. */
const SERVERS = {
  api: ['rest', 'apiMetrics'],
  controller: ['controller'],
  embedded: ['objectStore', 'node', 'embeddedMetrics', 'kube'],
} as const satisfies Partial<Record<Program, readonly (keyof Ports)[]>>;
const PROGRAMS = ['api', 'controller', 'embedded'] as const;
/**
 * A small nursery: idle programs keep what they once needed, and 4 MB instead of 16 saves a third of each one's memory.
 */
function nodeOptions(installation: string): readonly string[] {
  const maps = pathToFileURL(join(installation, 'dist', 'libs', 'lifecycle', 'src', 'own-source-maps.js'));
  return ['--import', maps.href, '--max-semi-space-size=4'];
}

export interface PlatformParts {
  readonly options: UpOptions;
  readonly folder: DataFolder;
  readonly installation: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: Progress;
  readonly context: ProgramContext;
}

/** URL at which clients reach the platform, if its settings name one. */
function publicUrl(): string | undefined {
  return inheritedEnvironment(['AGENTPLANE_PUBLIC_URL'])['AGENTPLANE_PUBLIC_URL'];
}

/** True when a child reports that it serves. */
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
  readonly #records: ProcessRecords;
  #olderKeys: readonly OlderKey[] = [];
  #troubles: readonly string[] = [];

  constructor(private readonly parts: PlatformParts) {
    this.#records = new ProcessRecords(parts.folder.paths.children);
  }

  /** Once it is started: keys of a lost `credentials.json` that still work. */
  get olderKeys(): readonly OlderKey[] {
    return this.#olderKeys;
  }

  /** Once it is started: what of workspaces could not be prepared. */
  get troubles(): readonly string[] {
    return this.#troubles;
  }

  /** Starts everything; answers what its user needs. */
  async start(): Promise<PlatformCredentials> {
    const { folder, options, clock, log, progress, context } = this.parts;
    const { paths } = folder;
    const known = readCredentials(paths.credentials);
    if (options.kubeconfigPath !== undefined) {
      const { adoptKubeconfig } = await import('./adopt-kubeconfig.js');
      adoptKubeconfig(options.kubeconfigPath, paths.kubeconfig);
    }
    const isTls = options.tls !== undefined;
    const ports = await choosePorts(paths.ports, { port: options.port, isTls });
    context.own(this.#logRotation());
    await this.#records.endStrays(clock, log);
    const at = { host: options.host, path: paths.ports, clock };
    const isOwn = options.kubeconfigPath !== undefined;
    const serversOf = (name: keyof typeof SERVERS): readonly (keyof Ports)[] =>
      name === 'api' && isTls ? [...SERVERS.api, 'tls'] : SERVERS[name];
    const names = PROGRAMS.flatMap(serversOf);
    const servers = isOwn ? names.filter((name) => name !== 'kube') : names;
    await requireFreePorts(ports, [...servers, 'supervisorMetrics'], at);
    keepPorts(paths.ports, ports);
    progress.say('starting Postgres');
    // begun first, since what follows needs none of it, and owned first, so that all else ends before it does
    const starting = this.#startPostgres(ports);
    starting.catch(() => undefined); // looked at below, unless something else fails before
    // loaded while initdb has one of the cores
    const preparation = context.own(this.#preparation());
    const held = await holdPorts(ports, servers, at);
    const child = (name: keyof typeof SERVERS): Child =>
      this.#child(name, held.split(serversOf(name).map((server) => ports[server] ?? 0)));
    const embedded = context.own(child('embedded'));
    embedded.load();
    await this.#serveMetrics(ports.supervisorMetrics);
    const postgres = await starting;
    // a server that an earlier start left running has the port it has
    const actual = { ...ports, postgres: postgres.port };
    keepPorts(paths.ports, actual);
    const surroundings = await this.#surroundings(preparation, actual, known);
    progress.say('starting the API server, the node and the object store');
    // stopped last of the programs: agents send their last traces to it
    const api = context.own(child('api'));
    const serving = embedded.message(isReadyMessage, START_MS);
    embedded.environment = embeddedEnvironment(surroundings);
    context.own(embedded).start();
    const controller = context.own(child('controller'));
    controller.load();
    api.load();
    const tenantId = known?.tenantId ?? randomUUID();
    const hopeless = embedded.hopeless();
    const [firstKey] = await Promise.race([
      Promise.all([
        preparation.run('apiKey', {
          databaseUri: surroundings.databaseUri,
          tenantId,
          knownKey: known?.apiKey,
        }),
        serving,
        preparation.run('sampleAgent', { images: paths.images, installation: surroundings.installation }),
      ]),
      hopeless,
    ]);
    const credentials = await Promise.race([
      this.#startPrograms({ surroundings, preparation, tenantId, firstKey, api, controller }),
      hopeless,
      api.hopeless(),
    ]);
    await preparation.stop();
    return credentials;
  }

  #logRotation(): LogRotation {
    const { folder, clock, log } = this.parts;
    const rotation = new LogRotation(folder.paths.logs, clock, log);
    rotation.start();
    return rotation;
  }

  /** The supervisor's own; it has no work that would make spans. */
  async #serveMetrics(port: number): Promise<void> {
    const { context, log } = this.parts;
    const settings = { metrics: { host: '127.0.0.1', port }, tracing: undefined };
    context.own(await startTelemetry({ program: 'supervisor', log, settings }));
  }

  /** Owned from before it runs: an interrupted start must not leave a server behind. */
  async #startPostgres(ports: Ports): Promise<EmbeddedPostgres> {
    const { folder, clock, log, context, options } = this.parts;
    const { root, ports: path } = folder.paths;
    const { upgrade } = folder;
    if (upgrade) this.parts.progress.say('keeping a copy of the databases');
    upgrade?.copyFiles();
    const { kube, ...always } = PLATFORM_ROLES;
    const request = {
      dataDir: root,
      port: ports.postgres,
      copyTo: upgrade?.cluster,
      clock,
      log,
      // a cluster of one's own keeps its objects itself
      platformRoles: options.kubeconfigPath === undefined ? { ...always, kube } : always,
    };
    const starting = startEmbeddedPostgres(request).catch(async (error: unknown) => {
      // the likeliest reason has an advice of its own
      await requireFreePorts(ports, ['postgres'], { host: options.host, path, clock });
      throw error;
    });
    context.own({
      name: 'postgres',
      stop: async () => {
        const started = await starting.catch(() => undefined); // reported where the start is awaited
        await started?.stop();
      },
    });
    const postgres = await starting;
    folder.settle();
    context.signal.throwIfAborted();
    return postgres;
  }

  async #startPrograms(started: {
    surroundings: Surroundings;
    preparation: Preparation;
    tenantId: string;
    firstKey: FirstKey;
    api: Child;
    controller: Child;
  }): Promise<PlatformCredentials> {
    const { surroundings, preparation, api, controller } = started;
    const { folder, installation, progress, log } = this.parts;
    const { kubeconfigPath, store } = surroundings;
    progress.say('applying the kinds of the platform');
    const tenantId = await preparation.run('cluster', {
      kubeconfigPath,
      installation,
      tenantId: started.tenantId,
      accounts: { api: this.#kubeconfigOf('api'), controller: this.#kubeconfigOf('controller') },
    });
    // without credentials.json the tenant was not known before
    const { key: apiKey, older } =
      tenantId === started.tenantId
        ? started.firstKey
        : await preparation.run('apiKey', {
            databaseUri: surroundings.databaseUri,
            tenantId,
            knownKey: undefined,
          });
    this.#olderKeys = older;
    progress.say('starting api and controller');
    const listening = api.message(isReadyMessage, START_MS);
    listening.catch(() => undefined); // looked at below
    controller.environment = controllerEnvironment(surroundings, this.#kubeconfigOf('controller'));
    controller.start();
    api.environment = apiEnvironment(surroundings, this.#kubeconfigOf('api'));
    api.start();
    progress.say('preparing the first workspace');
    const credentials: PlatformCredentials = {
      restUrl: surroundings.apiUrl,
      ...(surroundings.tls ? { tls: this.#tlsAddress(surroundings.tls) } : {}),
      apiKey,
      tenantId,
      operatorKey: surroundings.operatorKey,
      kubeconfig: kubeconfigPath,
      objectStore: store,
      metrics: metricsAddresses(surroundings.ports),
    };
    writeCredentials(folder.paths.credentials, credentials);
    const users = folder.paths.storeUsers;
    const prepared = preparation.run('workspace', { kubeconfigPath, store, users });
    [this.#troubles] = await Promise.all([prepared, listening]);
    for (const trouble of this.#troubles) log.warn({ trouble }, 'something of a workspace is not prepared');
    return credentials;
  }

  #kubeconfigOf(account: string): string {
    return join(this.parts.folder.paths.kube, `${account}.kubeconfig`);
  }

  /** One that has what every program has; its own settings come before its start. */
  #child(name: Program, sockets: HeldSockets): Child {
    const observe = observeProgram(name);
    const { folder, installation, clock, log } = this.parts;
    return new Child({
      name,
      sockets,
      program: join(installation, 'dist', 'apps', name, 'src', 'main.js'),
      environment: { ...programEnvironment(), ...(name === 'api' ? {} : FRUGAL_MEMORY) },
      nodeOptions: nodeOptions(installation),
      logFile: join(folder.paths.logs, `${name}.log`),
      stopMs: 15_000,
      clock,
      log,
      onProcess: (identity) => {
        this.#records.set(name, identity);
        observe(identity !== undefined);
      },
    });
  }

  #preparation(): Preparation {
    const { folder, installation, clock } = this.parts;
    return new Preparation({
      program: join(installation, 'dist', 'apps', 'platform', 'src', 'preparation', 'main.js'),
      environment: programEnvironment(),
      nodeOptions: nodeOptions(installation),
      logFile: join(folder.paths.logs, 'preparation.log'),
      clock,
      onProcess: (identity) => this.#records.set('preparation', identity),
    });
  }

  /** Address and certificate for other machines; makes the platform's own certificate. */
  async #tls(preparation: Preparation, { tls: port }: Ports): Promise<TlsListening | undefined> {
    const { options, folder } = this.parts;
    if (!options.tls || port === undefined) return undefined;
    const { host } = options;
    if (options.tls.kind === 'files') return { host, port, files: options.tls.files };
    const files = { certificate: folder.paths.tlsCertificate, key: folder.paths.tlsKey };
    await preparation.run('certificate', { files, names: [hostForOthers(host, publicUrl())] });
    return { host, port, files };
  }

  #tlsAddress({ host, port, files }: TlsListening): TlsAddress {
    return { url: tlsUrl(hostForOthers(host, publicUrl()), port), certificate: files.certificate };
  }

  async #surroundings(
    preparation: Preparation,
    ports: Ports,
    known: PlatformCredentials | undefined,
  ): Promise<Surroundings> {
    const { options, folder, installation } = this.parts;
    const { paths } = folder;
    const [uris, storeKeys] = await Promise.all([
      preparation.run('databases', {
        dataDir: paths.root,
        port: ports.postgres,
        hasOwnCluster: options.kubeconfigPath !== undefined,
      }),
      preparation.run('storeOperator', {
        users: paths.storeUsers,
        knownKey: known?.objectStore.accessKeyId,
      }),
    ]);
    // after the operator's, who finds out whether the folder is from before there were users
    const attachmentKeys = await preparation.run('attachmentKeys', { users: paths.storeUsers });
    const store: StoreCredentials = {
      endpoint: `http://127.0.0.1:${ports.objectStore}`,
      region: REGION,
      bucket: BUCKET,
      ...storeKeys,
    };
    const tls = await this.#tls(preparation, ports);
    const address = tls ? '127.0.0.1' : options.host;
    const host = urlHost(address);
    return {
      paths,
      ports,
      installation,
      store,
      attachmentKeys,
      ...uris,
      host: address,
      tls,
      operatorKey: known?.operatorKey ?? newOperatorKey(),
      kubeconfigPath: paths.kubeconfig,
      apiUrl: `http://${host}:${ports.rest}`,
    };
  }
}
