import { setImmediate } from 'node:timers/promises';
import { adoptEnvironment, inheritedEnvironment, PLATFORM_VERSION } from '#lib/config';
import { TerminalError } from '#lib/errors';
import type { GraphLanguage } from '#lib/graph-configuration';
import { WrongKeys } from '#lib/http';
import { Notifications } from '#lib/postgres';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { signingSecretsOf } from '#lib/webhook';
import { ThreadReader } from './store/thread/thread-reader.js';
import { ThreadWriter } from './store/thread/thread-writer.js';
import { Assistants } from './assistant/assistants.js';
import { AppFront } from './app-front/app-front.js';
import { NodeApp } from './app-front/node-app.js';
import { PythonApp } from './app-front/python-app.js';
import type { Authorization } from './authorization/authorization.js';
import { HandlerProcess } from './authorization/handler-process.js';
import { loadAuthorization } from './authorization/load-authorization.js';
import { buildServices, type Services } from './build-services.js';
import type { ServerConfig } from './config.js';
import { readGraphFolder, type GraphFolder } from './graph/graph-folder.js';
import { GraphHosts } from './hosting/graph-hosts.js';
import { KeyVerifier } from './http/authenticate.js';
import { loadCors } from './http/load-cors.js';
import { HttpSide } from './http/http-side.js';
import { connectNotifications, type NotificationWord } from './run/connect-notifications.js';
import { redisSecrets } from './fan-out/redis-places.js';
import { hostEmbedder } from './hosting/host-embedder.js';
import { nodeHost, pythonHost } from './hosting/host-program.js';
import type { LoadOrder } from './protocol/messages.js';
import { StateKeeper } from './hosting/state-keeper.js';
import { ItemIndex } from './memory/item-index.js';
import { ItemStore } from './memory/item-store.js';
import { ItemSweeper } from './memory/item-sweeper.js';
import { readRuns } from './run/observe-runs.js';
import { awaitDatabase } from './start/await-database.js';
import { openLoadingDoor } from './start/loading-door.js';
import type { ParentReports } from './start/parent-reports.js';
import { MAX_PARSED_CHARS } from './store/document-bytes.js';
import { Readiness } from './start/readiness.js';
import { UiAssets } from './ui/ui-assets.js';
import { Database } from './store/database.js';
import type { Sql } from './store/sql.js';
import { CHANNEL } from './store/channel.js';
import { StateWriter } from './store/checkpoint/state-writer.js';
import { SecretWords } from './wire/secret-words.js';

/** Look-ups that are left for unknown keys of sources that sent too many wrong ones. */
const CHANCES_PER_SECOND = 10;

/**
 * Version of the interface's agent server whose routes and answers this one has, by which clients decide what they may
 * use: A2A needs 0.4.21.
 */
const SERVER_VERSION = '0.16.7';

export interface AgentServerOptions {
  readonly config: ServerConfig;
  /** Folder with `langgraph.json`. */
  readonly folder: string;
  readonly reports: ParentReports;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What runs and has to be stopped. */
interface Running extends AgentServerOptions {
  readonly hosts: GraphHosts;
  readonly app: AppFront | undefined;
  readonly handlers: HandlerProcess | undefined;
  readonly database: Database;
  readonly services: Services;
  readonly sweeper: ItemSweeper;
  /** Ends what scrapes read of this server. */
  readonly endReadings: () => void;
  readonly http: HttpSide;
  readonly notifications: Notifications<NotificationWord>;
}

/**
 * The runtime of one deployed agent: graphs, queue, worker and HTTP in one process.
 *
 * Starts in groups: graphs, HTTP (which is not ready yet), schema, then the worker and its leases. Stops the other way
 * round: readiness is withdrawn, no run is taken any more, runs at work finish or are handed back, readers are served to the end.
 */
export class AgentServer {
  private constructor(
    readonly port: number,
    private readonly running: Running,
  ) {}

  /**
   * @throws TerminalError `GraphLoadFailed` when a graph does not load, `Unprotected` without authentication; WaitingError
   * `DependencyUnavailable` when the database stays unavailable
   */
  static async start(options: AgentServerOptions): Promise<AgentServer> {
    const { config, clock, log } = options;
    const verifier = buildVerifier(config, clock);
    const ownUrl = Promise.withResolvers<string>();
    const states = Promise.withResolvers<StateKeeper>();
    const loaded = await loadAgent(options, ownUrl.promise, states.promise);
    const { agent, graphs, hosts, app, handlers, ui, authorization } = loaded;
    const { postgresUri: uri } = config;
    const database = buildDatabase(options);
    const { sql } = database;
    const assistants = new Assistants(sql);
    const readiness = new Readiness();

    const secrets = secretsOf(config);
    const { items, sweeper } = buildItems(loaded, sql, options);
    states.resolve(new StateKeeper({ writer: new StateWriter(sql), items, clock }));
    const { webhooks: webhookSettings, threadTtl } = agent;
    const services = buildServices({
      ...{ app, hasApp: agent.http.app !== undefined },
      ...{ config, webhookSettings, threadTtl, database, graphs, hosts, assistants, secrets, clock, log },
    });
    const { worker, watches, keeper, follower, runs, outputs, state, crons, webhooks, agents, tasks, watch } =
      services;
    const http = new HttpSide({
      ...{ activity: services.activity, idle: services.idle },
      ...{ verifier, authorization, admitsStudio: agent.auth?.admitsStudio ?? true },
      security: agent.auth?.openapi,
      ...{ sql, assistants, graphs, threads: new ThreadWriter(sql), reader: new ThreadReader(sql) },
      ...{ hosts, traces: services.traceEraser, runs, outputs },
      crons,
      state,
      watch,
      keptMs: config.resumableSeconds * 1000,
      items,
      a2a: {
        ...{ agents, tasks, publicUrl: config.publicUrl, serviceUrl: config.serviceUrl },
        trustsForwarded: config.trustForwarded === 'on',
      },
      settings: agent.http,
      ...{ app, handlers, ui, redis: services.redis },
      ...{ isQueue: config.role === 'queue', loads: services.loads },
      version: PLATFORM_VERSION,
      cors: await loadCors(config.corsOrigins, agent.http.cors),
      info: infoOf(config, agent.language),
      readiness,
      unreadBytes: config.unreadMegabytes * 2 ** 20,
      clock,
      log,
    });
    const notifications = new Notifications<NotificationWord>({
      uri,
      channel: CHANNEL,
      applicationName: 'agent-server listen',
      clock,
      log,
    });
    connectNotifications(notifications, { sql, worker, watches, follower, webhooks, watch });

    // before the database answers: `GET /ok` says what the server waits for
    const port = await http.listen(config.host, config.port);
    ownUrl.resolve(ownUrlOf(config.host, port, agent.http.mountPrefix));
    const { startPatienceMs: patienceMs } = config;
    await awaitDatabase({ uri, patienceMs, readiness, secrets, clock, log }, async () => {
      await database.migrate();
      await assistants.ensure([...graphs]);
      await services.threadSweeper.prepare();
    });
    services.redis?.start();
    await notifications.start();
    worker.start();
    keeper.start();
    sweeper.start();
    webhooks.start();
    services.threadSweeper.start();
    services.traceEraser?.start();
    services.ticker.start();
    readiness.started();
    const endReadings = readRuns({ worker, logs: services.logs, sql, server: services.server, http });
    return new AgentServer(port, {
      ...options,
      ...{ hosts, app, handlers, database, services, sweeper, http, notifications, endReadings },
    });
  }

  get serverId(): string {
    return this.running.services.server.serverId;
  }

  /** Ends in order; runs that are not done by then are handed back to the queue. */
  async stop(): Promise<void> {
    const {
      config,
      hosts,
      app,
      handlers,
      database,
      services,
      sweeper,
      http,
      notifications,
      endReadings,
      clock,
    } = this.running;
    endReadings();
    http.drain();
    const beganMs = clock.monotonicMs();
    await services.worker.drain(config.drainMs);
    // what was asked for a moment ago is done elsewhere now
    const stopMs = Math.max(config.drainMs, config.settleMs);
    await http.settle(Math.min(config.settleMs, stopMs - (clock.monotonicMs() - beganMs)));
    await services.keeper.stop();
    await sweeper.stop();
    await services.webhooks.stop();
    await services.threadSweeper.stop();
    await services.traceEraser?.stop();
    await services.ticker.stop();
    services.follower.stop();
    await services.redis?.stop();
    await setImmediate(); // streams of runs that have just ended are written in the next turn
    await http.close();
    await Promise.all([hosts.stop(), app?.stop(), handlers?.stop()]);
    await notifications.stop();
    await database.close();
  }
}

/** @throws TerminalError when the settings leave open who may call */
function buildVerifier(config: ServerConfig, clock: Clock): KeyVerifier | undefined {
  if (config.auth === 'off') return undefined;
  if (config.authUrl === '' || config.tenantId === '')
    throw new TerminalError(
      REASON.unprotected,
      'authentication: AGENTPLANE_AUTH_URL or AGENTPLANE_TENANT_ID is not set; set both, or AGENTPLANE_AUTH=off to accept every request',
    );
  const { authUrl, tenantId, deployment, wrongKeysPerMinute: perMinute } = config;
  const wrongKeys = new WrongKeys({ perMinute, chancesPerSecond: CHANCES_PER_SECOND, clock });
  return new KeyVerifier(authUrl, { tenantId, deployment }, wrongKeys, clock);
}

function buildItems(
  { agent, hosts }: Pick<LoadedAgent, 'agent' | 'hosts'>,
  sql: Sql,
  { clock, log }: AgentServerOptions,
): { readonly items: ItemStore; readonly sweeper: ItemSweeper } {
  const { ttl, index: settings } = agent.store;
  const index = settings && new ItemIndex({ ...settings, embedder: hostEmbedder(hosts), clock });
  return {
    items: new ItemStore({ sql, ttl, index, log }),
    sweeper: new ItemSweeper({ sql, intervalMinutes: ttl.sweepIntervalMinutes, clock, log }),
  };
}

function buildDatabase({ config, clock, log }: AgentServerOptions): Database {
  return new Database({
    uri: config.postgresUri,
    // many graph hosts leave nothing of a small pool
    poolSize: Math.max(2, config.poolSize - hostPool(config) * config.graphHosts),
    maxParsedChars: MAX_PARSED_CHARS,
    scanLimitMs: config.searchSeconds * 1_000,
    clock,
    log,
  });
}

/** Database connections of each graph host: together with the server's own they are what the settings allow. */
function hostPool({ poolSize, graphHosts }: ServerConfig): number {
  return Math.max(2, Math.floor(poolSize / 2 / graphHosts));
}

/** What an agent's folder brings. */
interface LoadedAgent {
  readonly agent: GraphFolder;
  readonly graphs: ReadonlySet<string>;
  readonly hosts: GraphHosts;
  readonly app: AppFront | undefined;
  readonly handlers: HandlerProcess | undefined;
  readonly ui: UiAssets;
  readonly authorization: Authorization | undefined;
}

async function loadAgent(
  options: AgentServerOptions,
  ownUrl: Promise<string>,
  keeper: Promise<StateKeeper>,
): Promise<LoadedAgent> {
  const { config, folder, reports, clock, log } = options;
  const agent = await readGraphFolder(folder);
  if (agent.python && agent.store.index)
    throw new TerminalError(
      REASON.graphLoadFailed,
      'langgraph.json: "store.index" is not there for Python graphs; remove it',
    );
  for (const note of agent.notes) log.warn({ note }, 'setting of the agent drives nothing');
  // what the deployment sets comes first
  adoptEnvironment({ ...agent.variables, ...inheritedEnvironment(Object.keys(agent.variables)) });
  const order: LoadOrder = {
    folder: agent.folder,
    graphs: agent.graphs,
    postgresUri: config.postgresUri,
    poolSize: hostPool(config),
    logLevel: config.logLevel,
    secrets: secretWords(config),
    store: agent.store,
    maxTextBytes: config.eventMegabytes * 2 ** 20,
    modules: agent.modules,
    importFolders: [],
  };
  const hosts = new GraphHosts({
    order,
    program: agent.python ? pythonHost(agent.folder, agent.python, config.python) : nodeHost(),
    keeper,
    reports,
    ownUrl,
    // without runs they only tell of graphs and states
    count: config.role === 'api' ? 1 : config.graphHosts,
    maxRuns: config.concurrency,
    clock,
    log,
  });
  const app = config.role === 'queue' ? undefined : openApp(agent, order, options, ownUrl);
  const handlers = openHandlers(agent, order, options, ownUrl);
  let authorization: Authorization | undefined;
  let ui: UiAssets;
  const close = await openLoadingDoor(config, () =>
    [hosts, app, handlers]
      .map((one) => one?.describeLoad())
      .filter((one) => one !== undefined)
      .join('; '),
  );
  try {
    const { auth } = agent;
    authorization = auth && (await loadAuthorization(agent.folder, auth, handlers, { clock, log, reports }));
    const uiFolder = agent.http.disabled.has('ui') ? { ...agent, ui: { entries: [], shared: [] } } : agent;
    const onSources = (files: readonly string[]): void => reports.sources(files);
    // not before the handlers, which are compiled in this process as well
    [ui] = await Promise.all([UiAssets.load(uiFolder, onSources), hosts.load(), app?.load()]);
  } catch (error) {
    await Promise.all([hosts.stop(), app?.stop(), handlers?.stop()]);
    throw error;
  } finally {
    await close();
  }
  const graphs = new Set(agent.graphs.map(({ graphId }) => graphId));
  return { agent, graphs, hosts, app, handlers, ui, authorization };
}

/** Handlers in Python run in a process of their own; undefined for an agent without. */
function openHandlers(
  { auth, folder, python }: GraphFolder,
  order: LoadOrder,
  { config, reports, clock, log }: AgentServerOptions,
  ownUrl: Promise<string>,
): HandlerProcess | undefined {
  if (!auth || !python) return undefined;
  const { file, exportName } = auth;
  return new HandlerProcess({
    order: { ...order, graphs: [], module: { setting: 'auth.path', file, exportName } },
    program: pythonHost(folder, python, config.python, 'auth'),
    ...{ reports, ownUrl, clock, log },
  });
}

function openApp(
  { folder, python, http: { app: settings } }: GraphFolder,
  order: LoadOrder,
  { config, reports, clock, log }: AgentServerOptions,
  ownUrl: Promise<string>,
): AppFront | undefined {
  if (settings === undefined) return undefined;
  if (!settings.authenticatesRoutes)
    log.info({ setting: 'http.enable_custom_route_auth' }, 'routes of the HTTP app ask for no key');
  const { file, exportName } = settings;
  const shared = { reports, ownUrl, clock, log };
  const make = python
    ? () =>
        new PythonApp({
          ...{ order, module: { setting: 'http.app', file, exportName } },
          ...{ program: pythonHost(folder, python, config.python, 'app'), ...shared },
        })
    : () => new NodeApp({ order: { folder, file, exportName, logLevel: config.logLevel }, ...shared });
  return new AppFront({ make, settings, limits: { answerMs: config.appAnswerMs }, clock, log });
}

/** Where this process reaches itself. */
function ownUrlOf(host: string, port: number, prefix: string): string {
  const local = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}${prefix}`;
}

function secretWords(config: ServerConfig): string[] {
  const { postgresUri, platformKey, redisUri } = config;
  const redis = redisUri === undefined ? [] : redisSecrets(redisUri);
  const words = [postgresUri, platformKey, ...redis, ...signingSecretsOf(config.webhookSecret)];
  return words.filter((word) => word !== undefined);
}

/** What must not stand in any text that leaves the server. */
export function secretsOf(config: ServerConfig): SecretWords {
  return new SecretWords(secretWords(config));
}

function infoOf(config: ServerConfig, language: GraphLanguage): unknown {
  return {
    version: SERVER_VERSION,
    agentplane_version: PLATFORM_VERSION,
    context: language === 'python' ? 'python' : 'js',
    deployment: config.deployment ?? null,
    revision: config.revision ?? null,
    flags: { assistants: true, crons: true, langsmith: true },
  };
}
