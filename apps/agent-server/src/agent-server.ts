import { setImmediate } from 'node:timers/promises';
import { adoptEnvironment, inheritedEnvironment, PLATFORM_VERSION } from '#lib/config';
import { TerminalError } from '#lib/errors';
import { WrongKeys } from '#lib/http';
import { Notifications } from '#lib/postgres';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { Assistants } from './assistant/assistants.js';
import { buildServices, type Services } from './build-services.js';
import type { ServerConfig } from './config.js';
import { callStoreDirectly } from './graph/call-store-directly.js';
import { readGraphFolder, type GraphFolder } from './graph/graph-folder.js';
import { GraphRegistry } from './graph/graph-registry.js';
import { loadEmbedder } from './graph/load-embedder.js';
import { LoadProgress } from './graph/load-progress.js';
import { offerLogger } from './graph/offer-logger.js';
import { KeyVerifier } from './http/authenticate.js';
import { HttpSide } from './http/http-side.js';
import { connectNotifications, type NotificationWord } from './run/connect-notifications.js';
import { GraphStore } from './memory/graph-store.js';
import { ItemIndex, type Embedder } from './memory/item-index.js';
import { ItemStore } from './memory/item-store.js';
import { ItemSweeper } from './memory/item-sweeper.js';
import { readRuns } from './run/observe-runs.js';
import { flushTraces } from './run/flush-traces.js';
import { awaitDatabase } from './start/await-database.js';
import { openLoadingDoor } from './start/loading-door.js';
import type { ParentReports } from './start/parent-reports.js';
import { Readiness } from './start/readiness.js';
import { Database } from './store/database.js';
import { CHANNEL } from './store/channel.js';
import { signingSecretsOf } from './webhook/build-webhooks.js';
import { WORKER } from './store/worker-scope.js';
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
  readonly graphs: GraphRegistry;
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
    const { agent, graphs, embedder } = await loadGraphs(options);
    const { postgresUri: uri, poolSize } = config;
    const database = new Database({ uri, poolSize, clock, log });
    const { sql } = database;
    const assistants = new Assistants(sql);
    const readiness = new Readiness();

    const secrets = secretsOf(config);
    const { ttl, index: settings } = agent.store;
    const index = settings && embedder && new ItemIndex({ ...settings, embedder, clock });
    const items = new ItemStore({ sql, ttl, index, log });
    const store = new GraphStore(items, WORKER);
    for (const { file } of graphs.sources) await callStoreDirectly(file, store);
    const sweeper = new ItemSweeper({ sql, intervalMinutes: ttl.sweepIntervalMinutes, clock, log });
    const services = buildServices({
      ...{
        config,
        webhookSettings: agent.webhooks,
        threadTtl: agent.threadTtl,
        database,
        graphs,
        store,
        assistants,
        secrets,
        clock,
        log,
      },
    });
    const { worker, keeper, follower, runs, state, crons, webhooks, agents, tasks } = services;
    const http = new HttpSide({
      verifier,
      sql,
      assistants,
      graphs,
      runs,
      crons,
      state,
      items: agent.isStoreServed ? items : undefined,
      a2a: { agents, tasks, publicUrl: config.publicUrl, trustsForwarded: config.trustForwarded === 'on' },
      disabled: agent.disabled,
      version: PLATFORM_VERSION,
      corsOrigins: config.corsOrigins,
      info: infoOf(config),
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
    connectNotifications(notifications, { sql, worker, follower, webhooks });

    // before the database answers: `GET /ok` says what the server waits for
    const port = await http.listen(config.host, config.port);
    const { startPatienceMs: patienceMs } = config;
    await awaitDatabase({ uri, patienceMs, readiness, secrets, clock, log }, async () => {
      await database.migrate();
      await assistants.ensure(graphs.ids);
      await services.threadSweeper.prepare();
    });
    await notifications.start();
    worker.start();
    keeper.start();
    sweeper.start();
    webhooks.start();
    services.threadSweeper.start();
    services.ticker.start();
    readiness.started();
    const endReadings = readRuns({ worker, logs: services.logs, sql, server: services.server, http });
    return new AgentServer(port, {
      ...options,
      ...{ graphs, database, services, sweeper, http, notifications, endReadings },
    });
  }

  get serverId(): string {
    return this.running.services.server.serverId;
  }

  /** Ends in order; runs that are not done by then are handed back to the queue. */
  async stop(): Promise<void> {
    const { config, clock, graphs, database, services, sweeper, http, notifications, endReadings } =
      this.running;
    endReadings();
    http.drain();
    await services.worker.drain(config.drainMs);
    await services.keeper.stop();
    await sweeper.stop();
    await services.webhooks.stop();
    await services.threadSweeper.stop();
    await services.ticker.stop();
    services.follower.stop();
    await setImmediate(); // streams of runs that have just ended are written in the next turn
    await http.close();
    await flushTraces(graphs, clock);
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

async function loadGraphs({ config, folder, reports, clock, log }: AgentServerOptions): Promise<{
  readonly agent: GraphFolder;
  readonly graphs: GraphRegistry;
  readonly embedder: Embedder | undefined;
}> {
  const agent = await readGraphFolder(folder);
  for (const note of agent.notes) log.warn({ note }, 'setting of the agent drives nothing');
  // what the deployment sets comes first
  adoptEnvironment({ ...agent.variables, ...inheritedEnvironment(Object.keys(agent.variables)) });
  offerLogger(log);
  const progress = new LoadProgress(clock);
  const inFolder = (text: string): string => text.replaceAll(`${agent.folder}/`, '');
  const close = await openLoadingDoor(config, () => inFolder(progress.describe() ?? 'starting'));
  try {
    const graphs = await GraphRegistry.load(agent, progress, reports);
    for (const graphId of graphs.withOwnStore)
      log.warn({ graphId }, 'graph was compiled with a store of its own; the one of the server is used');
    const { index } = agent.store;
    const embedder = index && (await loadEmbedder(agent.folder, index));
    return { agent, graphs, embedder };
  } finally {
    await close();
  }
}

/** What must not stand in any text that leaves the server. */
export function secretsOf(config: ServerConfig): SecretWords {
  return new SecretWords([config.postgresUri, config.platformKey, ...signingSecretsOf(config)]);
}

function infoOf(config: ServerConfig): unknown {
  return {
    version: SERVER_VERSION,
    agentplane_version: PLATFORM_VERSION,
    context: 'js',
    deployment: config.deployment ?? null,
    revision: config.revision ?? null,
    flags: { assistants: true, crons: true, langsmith: true },
  };
}
