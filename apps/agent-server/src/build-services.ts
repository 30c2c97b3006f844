import { randomUUID } from 'node:crypto';
import type { WebhookSettings } from '#lib/graph-configuration';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { Agents } from './a2a/agents.js';
import { Tasks } from './a2a/tasks.js';
import type { Assistants } from './assistant/assistants.js';
import type { ServerConfig } from './config.js';
import type { GraphRegistry } from './graph/graph-registry.js';
import { ThreadState } from './http/thread-state.js';
import { LeaseKeeper } from './run/lease-keeper.js';
import { RunFeeds } from './run/run-feed.js';
import { RunFollower } from './run/run-follower.js';
import { RunRelay } from './run/run-relay.js';
import { RunService } from './run/run-service.js';
import { TemporaryRuns } from './run/temporary-runs.js';
import { Worker } from './run/worker.js';
import { buildWebhooks } from './webhook/build-webhooks.js';
import type { WebhookSender } from './webhook/webhook-sender.js';
import type { Database } from './store/database.js';
import type { ServerIdentity } from './store/server-identity.js';
import type { SecretWords } from './wire/secret-words.js';

export interface ServiceParts {
  readonly config: ServerConfig;
  /** What `langgraph.json` says about webhooks. */
  readonly webhookSettings: WebhookSettings;
  /** With its schema. */
  readonly database: Database;
  readonly graphs: GraphRegistry;
  readonly assistants: Assistants;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Everything that works with runs and threads. */
export interface Services {
  readonly server: ServerIdentity;
  readonly feeds: RunFeeds;
  readonly worker: Worker;
  readonly keeper: LeaseKeeper;
  readonly follower: RunFollower;
  readonly runs: RunService;
  readonly webhooks: WebhookSender;
  readonly state: ThreadState;
  readonly agents: Agents;
  readonly tasks: Tasks;
}

/** Puts everything that the routes call together, and what works beside them. Nothing is started. */
export function buildServices(parts: ServiceParts): Services {
  const { config, database, graphs, assistants, secrets, clock, log } = parts;
  const { sql, renewals } = database;
  const { concurrency, leaseMs, maxTakeovers } = config;
  const server = { serverId: randomUUID(), leaseMs, maxTakeovers, graphIds: graphs.ids };
  const feeds = new RunFeeds();
  const relay = new RunRelay(sql);
  const temporary = new TemporaryRuns(sql, server, clock);
  const follower = new RunFollower({ sql, server, feeds, clock, log });
  const webhooks = buildWebhooks(parts);
  const execution = { sql, graphs, secrets, clock };
  const worker = new Worker({
    ...execution,
    server,
    concurrency,
    temporary,
    relay,
    feeds,
    followed: follower,
    log,
  });
  const runs = new RunService({
    ...{ sql, server, assistants, graphs, temporary, feeds, follower, worker, clock },
    webhooks: webhooks.policy,
  });
  const state = new ThreadState({ sql, assistants, graphs, secrets });
  return {
    server,
    feeds,
    worker,
    follower,
    keeper: new LeaseKeeper({ sql, renewals, server, temporary, relay, worker, clock, log }),
    webhooks: webhooks.sender,
    runs,
    state,
    agents: new Agents(assistants, graphs),
    tasks: new Tasks({ sql, runs, states: state, clock }),
  };
}
