import { setImmediate } from 'node:timers/promises';
import { PLATFORM_VERSION } from '#lib/config';
import { WrongKeys } from '#lib/http';
import { Notifications } from '#lib/postgres';
import type { Clock } from '#lib/time';
import { urlHost } from '#lib/url';
import { ThreadReader, ThreadWriter } from './store/statement/change-thread.js';
import { Assistants } from './assistant/assistants.js';
import type { AppFront } from './app-front/app-front.js';
import type { HandlerProcess } from './authorization/handler-process.js';
import { buildServices, type Services } from './build-services.js';
import type { ServerConfig } from './config.js';
import { type GraphHosts, hostEmbedder } from './hosting/graph-hosts.js';
import { KeyVerifier } from './http/authentication.js';
import { loadCors } from './http/cors.js';
import { HttpSide } from './http/http-side.js';
import { connectNotifications, type NotificationWord } from './run/connect-notifications.js';
import { StateKeeper } from './hosting/state-keeper.js';
import { ItemIndex } from './memory/item-index.js';
import { ItemStore, ItemSweeper } from './memory/item-store.js';
import { readRuns } from './run/observe-runs.js';
import { awaitDatabase, Readiness } from './start/await-database.js';
import { MAX_PARSED_CHARS } from './store/json-text.js';
import {
  type AgentLoading,
  type AgentLoadingOptions,
  beginLoading,
  hostPool,
  type LoadedAgent,
  secretsOf,
} from './start/load-agent.js';
import { Database } from './store/database.js';
import type { Sql } from './store/sql.js';
import { CHANNEL } from './store/channel.js';
import { StateWriter } from './store/checkpoint/put-states.js';

/** Look-ups that are left for unknown keys of sources that sent too many wrong ones. */
const CHANCES_PER_SECOND = 10;

/**
 * Milliseconds that a server behind a Service serves after its stop began, as pods of the api do: until every node has heard
 * that it ends, connections still come, and clients learn by an answer that theirs ends.
 */
const LEAVE_MS = 5_000;

/**
 * Delay of the first looks for webhooks, crons and erasures: five statements at once would open a connection each, while
 * the request that woke the server needs one. The listener wakes a server two seconds before a cron is due.
 */
const FIRST_LOOKS_MS = 500;

/**
 * Version of the interface's agent server whose routes and answers this one has, by which clients decide what they may
 * use: A2A needs 0.4.21.
 */
const SERVER_VERSION = '0.16.7';

export interface AgentServerOptions extends AgentLoadingOptions {
  /** Loading of this folder, when it has begun already. */
  readonly loading?: AgentLoading;
}

/** Parts that run and have to be stopped. */
interface Running extends AgentServerOptions {
  readonly hosts: GraphHosts;
  readonly app: AppFront | undefined;
  readonly handlers: HandlerProcess | undefined;
  readonly database: Database;
  readonly services: Services;
  readonly sweeper: ItemSweeper;
  /** Ends the readings of this server for scrapes. */
  readonly endReadings: () => void;
  /** Keeps work that begins after the start from beginning. */
  readonly cancelFirstLooks: () => void;
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
    const { agent: loading, ownUrl, keeper: states } = options.loading ?? beginLoading(options);
    const verifier = buildVerifier(config, clock);
    const { postgresUri: uri, startPatienceMs: patienceMs } = config;
    const database = buildDatabase(options);
    const { sql } = database;
    const assistants = new Assistants(sql);
    const readiness = new Readiness();
    const secrets = secretsOf(config);
    const waiting = { uri, patienceMs, readiness, secrets, clock, log };
    // graphs load meanwhile, in processes of their own
    const migrated = awaitDatabase(waiting, () => database.migrate());
    migrated.catch(() => undefined); // problems of the agent are said first
    const loaded = await loading;
    const { agent, graphs, hosts, app, handlers, ui, authorization } = loaded;
    readiness.loads(loaded.describeLoad);

    const { items, sweeper } = buildItems(loaded, sql, options);
    states.resolve(new StateKeeper({ writer: new StateWriter(sql), items, clock }));
    const { webhooks: webhookSettings, threadTtl } = agent;
    const services = buildServices({
      app,
      hasApp: agent.http.app !== undefined,
      config,
      webhookSettings,
      threadTtl,
      ranksRuns: agent.priority !== undefined,
      database,
      graphs,
      hosts,
      assistants,
      secrets,
      clock,
      log,
    });
    const {
      worker,
      watches,
      keeper,
      follower,
      runs,
      outputs,
      state,
      crons,
      webhooks,
      agents,
      tasks,
      pushes,
      watch,
    } = services;
    const http = new HttpSide({
      activity: services.activity,
      idle: services.idle,
      verifier,
      authorization,
      admitsStudio: agent.auth?.admitsStudio ?? true,
      security: agent.auth?.openapi,
      sql,
      database,
      assistants,
      graphs,
      threads: new ThreadWriter(sql),
      reader: new ThreadReader(sql),
      hosts,
      traces: services.traceEraser,
      runs,
      outputs,
      crons,
      state,
      watch,
      keptMs: config.resumableSeconds * 1000,
      items,
      a2a: {
        agents,
        tasks,
        pushes,
        publicUrl: config.publicUrl,
        serviceUrl: config.serviceUrl,
        trustsForwarded: config.trustForwarded === 'on',
      },
      agUi: { contexts: services.contexts, requireHosts: services.requireHosts },
      settings: agent.http,
      app,
      handlers,
      ui,
      redis: services.redis,
      isQueue: config.role === 'queue',
      loads: services.loads,
      version: PLATFORM_VERSION,
      cors: await loadCors(config.corsOrigins, agent.http.cors),
      info: () => infoOf(config, loaded),
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

    // before graphs and database answer: `GET /ok` reports what the server waits for
    const port = await http.listen(config.host, config.port);
    ownUrl.resolve(ownUrlOf(config.host, port, agent.http.mountPrefix));
    try {
      // needs no graph, so it is done while they load; a connection of its own takes as long as all of the rest
      const prepared = migrated.then(() =>
        Promise.all([notifications.start(), awaitDatabase(waiting, () => services.threadSweeper.prepare())]),
      );
      prepared.catch(() => undefined); // problems of the agent are said first
      await loaded.ready;
      await prepared;
      await awaitDatabase(waiting, () => assistants.ensure([...graphs], hosts, loaded.defaults));
      services.redis?.start();
    } catch (error) {
      await Promise.allSettled([notifications.stop(), http.close(), database.close()]);
      throw error;
    }
    // these look for themselves at their start, so that what was notified before is not missed
    connectNotifications(notifications, { sql, worker, watches, follower, webhooks, watch });
    worker.start();
    keeper.start();
    sweeper.start();
    services.threadSweeper.start();
    const cancelFirstLooks = clock.after(FIRST_LOOKS_MS, () => {
      webhooks.start();
      services.traceEraser?.start();
      services.ticker.start();
    });
    readiness.started();
    const endReadings = readRuns({ worker, logs: services.logs, sql, server: services.server, http });
    return new AgentServer(port, {
      ...options,
      hosts,
      app,
      handlers,
      database,
      services,
      sweeper,
      http,
      notifications,
      endReadings,
      cancelFirstLooks,
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
      cancelFirstLooks,
      clock,
    } = this.running;
    endReadings();
    cancelFirstLooks();
    http.drain();
    const beganMs = clock.monotonicMs();
    const leaveMs = config.serviceUrl === '' || config.role === 'queue' ? 0 : LEAVE_MS;
    await Promise.all([services.worker.drain(config.drainMs), clock.sleep(leaveMs)]);
    // runs requested a moment ago are executed elsewhere now
    const stopMs = Math.max(config.drainMs, leaveMs + config.settleMs);
    await http.settle(Math.min(config.settleMs, stopMs - (clock.monotonicMs() - beganMs)));
    await services.keeper.stop();
    await sweeper.stop();
    await services.webhooks.stop();
    await services.threadSweeper.stop();
    await services.traceEraser?.stop();
    await services.ticker.stop();
    services.follower.stop();
    await services.redis?.stop();
    await setImmediate(); // streams of runs that have just ended are written in the next iteration
    await http.close();
    await Promise.all([hosts.stop(), app?.stop(), handlers?.stop()]);
    await notifications.stop();
    await database.close();
  }
}

function buildVerifier(config: ServerConfig, clock: Clock): KeyVerifier | undefined {
  if (config.auth === 'off') return undefined;
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
    servesRequests: true,
    scanLimitMs: config.searchSeconds * 1_000,
    clock,
    log,
  });
}

/** Address at which this process reaches itself. */
function ownUrlOf(host: string, port: number, prefix: string): string {
  const local = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${urlHost(local)}:${port}${prefix}`;
}

/** Names of the version of LangGraph. */
const LIBRARY = { javascript: 'langgraph_js_version', python: 'langgraph_py_version' } as const;

/**
 * Body of `GET /info`. Ids of `host` are null, as those of the vendor's servers outside of its platform: clients make
 * links to that platform's pages from them.
 */
function infoOf({ deployment, revision }: ServerConfig, { agent, hosts }: LoadedAgent): unknown {
  return {
    version: SERVER_VERSION,
    agentplane_version: PLATFORM_VERSION,
    [LIBRARY[agent.language]]: hosts.library ?? null,
    context: agent.language === 'python' ? 'python' : 'js',
    deployment: deployment ?? null,
    revision: revision ?? null,
    flags: {
      assistants: true,
      crons: true,
      langsmith: true,
      langsmith_tracing_replicas: false,
      langsmith_tracing_session_on_runs: false,
      mcp: !agent.http.disabled.has('mcp'),
    },
    host: {
      kind: 'self-hosted',
      project_id: null,
      host_revision_id: null,
      revision_id: revision ?? null,
      tenant_id: null,
    },
  };
}
