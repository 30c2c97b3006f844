import { PLATFORM_VERSION } from '#lib/config';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { TerminalError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ServerConfig } from './config.js';
import { readGraphConfiguration } from './graph/graph-config.js';
import { GraphRegistry } from './graph/graph-registry.js';
import { registerAssistantRoutes } from './http/assistant-routes.js';
import { KeyVerifier } from './http/authenticate.js';
import { buildHttpServer, close, listen } from './http/http-server.js';
import { OpenReplies } from './http/open-replies.js';
import { RunRoutes } from './http/run-routes.js';
import { registerThreadRoutes } from './http/thread-routes.js';
import { ThreadState } from './http/thread-state.js';
import { LeaseKeeper } from './run/lease-keeper.js';
import { RunFeeds } from './run/run-feed.js';
import { RunFollower } from './run/run-follower.js';
import { RunService } from './run/run-service.js';
import { SecretWords } from './wire/secret-words.js';
import { flushTraces } from './run/flush-traces.js';
import { Worker } from './run/worker.js';
import { Assistants } from './store/assistants.js';
import { Database } from './store/database.js';
import { Notifications } from './store/notifications.js';
import { RunEnds } from './store/run-ends.js';
import { RunEvents } from './store/run-events.js';
import { RunLeases } from './store/run-leases.js';
import { RunQueue } from './store/run-queue.js';
import { RunRecords } from './store/run-records.js';
import { Threads } from './store/threads.js';

/** Version of the product, shown by `/info`. */

export interface AgentServerOptions {
  readonly config: ServerConfig;
  /** Folder with `langgraph.json`. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Everything that keeps data, built on one database. */
function buildStores(config: ServerConfig, graphIds: readonly string[], clock: Clock, log: Logger) {
  const serverId = randomUUID();
  const database = new Database(config.postgresUri, config.poolSize, log);
  const { pool, renewals } = database;
  return {
    serverId,
    database,
    assistants: new Assistants(pool),
    threads: new Threads(pool),
    queue: new RunQueue(pool, serverId, config.leaseMs, graphIds, clock),
    ends: new RunEnds(pool),
    events: new RunEvents(pool, serverId),
    records: new RunRecords(pool),
    leases: new RunLeases(renewals, serverId, config.leaseMs, config.maxTakeovers, graphIds),
    notifications: new Notifications(config.postgresUri, clock, log),
  };
}

/** @throws TerminalError when nobody said who may call */
function buildVerifier(config: ServerConfig, clock: Clock): KeyVerifier | undefined {
  if (config.auth === 'off') return undefined;
  if (config.authUrl === '' || config.tenantId === '')
    throw new TerminalError(
      'Unprotected',
      'AGENTPLANE_AUTH_URL and AGENTPLANE_TENANT_ID are not set, so nobody could be let in; AGENTPLANE_AUTH=off opens the server to everybody',
    );
  return new KeyVerifier(config.authUrl, config.tenantId, clock);
}

/**
 * The runtime of one deployed agent: graphs, queue, worker and HTTP in one process.
 *
 * Starts in groups: graphs and schema, then the worker and its leases, then HTTP. Stops the other way round: readiness
 * goes, no run is taken any more, runs at work finish or are handed back, readers are served to the end.
 */
export class AgentServer {
  #isDraining = false;

  private constructor(
    readonly port: number,
    readonly serverId: string,
    private readonly options: AgentServerOptions,
    private readonly app: FastifyInstance,
    private readonly parts: {
      stores: ReturnType<typeof buildStores>;
      graphs: GraphRegistry;
      worker: Worker;
      keeper: LeaseKeeper;
      follower: RunFollower;
      routes: RunRoutes;
      replies: OpenReplies;
    },
  ) {}

  /** @throws TerminalError `GraphLoadFailed` when a graph does not load */
  static async start(options: AgentServerOptions): Promise<AgentServer> {
    const { config, folder, clock, log } = options;
    const verifier = buildVerifier(config, clock);
    const configuration = await readGraphConfiguration(folder);
    if (configuration.hasCustomAuth && verifier)
      log.warn(
        {},
        'the auth handler of langgraph.json is not supported yet: callers need an API key of the workspace',
      );
    const graphs = await GraphRegistry.load(configuration);

    const graphIds = graphs.sources.map((source) => source.graphId);
    const stores = buildStores(config, graphIds, clock, log);
    const { serverId, database, assistants, threads, queue, ends, events, records, leases, notifications } =
      stores;
    await database.migrate();
    await assistants.ensureSystem(graphIds);

    const feeds = new RunFeeds();
    const secrets = secretsOf(config);
    const follower = new RunFollower({ events, records, threads, feeds, clock, log });
    const base = {
      pool: database.pool,
      graphs,
      assistants,
      queue,
      ends,
      events,
      feeds,
      clock,
      log,
      serverId,
      secrets,
    };
    const { concurrency, leaseMs } = config;
    const worker = new Worker({ ...base, concurrency, leaseMs, followed: follower });
    const keeper = new LeaseKeeper({ ...base, leases, worker, leaseMs });
    notifications.on('pending', () => worker.wake());
    notifications.on('cancel', (runId) => void requestCancel(runId));
    notifications.on('watch', (runId) => worker.relay(runId));
    notifications.on('events', (runId) => follower.wake(runId));
    const requestCancel = async (runId: string): Promise<void> => {
      if (!worker.find(runId)) return;
      const action = await records.findCancel(runId).catch(() => undefined); // the next heartbeat sees it too
      if (action) worker.find(runId)?.stop({ kind: 'cancelled', action });
    };

    const runs = new RunService({ ...base, records, threads, follower, worker });
    const replies = new OpenReplies();
    const app = buildHttpServer({
      verifier,
      replies,
      notReady: () => (server?.isDraining ? 'draining' : undefined),
      info: () => infoOf(config),
      log,
    });
    const routes = new RunRoutes({ runs, records, clock });
    routes.register(app);
    registerThreadRoutes(app, {
      threads,
      clock,
      state: new ThreadState(database.pool, threads, assistants, graphs, secrets),
    });
    registerAssistantRoutes(app, { assistants, graphs, clock });

    await notifications.start();
    worker.start();
    keeper.start();
    const port = await listen(app, config.host, config.port);
    let server: AgentServer | undefined = undefined;
    server = new AgentServer(port, serverId, options, app, {
      stores,
      graphs,
      worker,
      keeper,
      follower,
      routes,
      replies,
    });
    return server;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Ends in order; runs that are not done by then are handed back to the queue. */
  async stop(): Promise<void> {
    const { stores, worker, keeper, follower, graphs, routes, replies } = this.parts;
    const { clock, config } = this.options;
    this.#isDraining = true;
    await worker.drain(config.drainMs);
    await keeper.stop();
    follower.stop();
    await setImmediate(); // streams of runs that have just ended say so in the next turn
    routes.stop();
    await close(this.app, replies, clock);
    await flushTraces(graphs, clock);
    await stores.notifications.stop();
    await stores.database.close();
  }
}

/** What must not stand in any text that leaves the server. */
export function secretsOf(config: ServerConfig): SecretWords {
  return new SecretWords([config.postgresUri, config.platformKey]);
}

function infoOf(config: ServerConfig): unknown {
  return {
    version: PLATFORM_VERSION,
    context: 'js',
    deployment: config.deployment ?? null,
    revision: config.revision ?? null,
    flags: { assistants: true, crons: false, langsmith: true },
  };
}
