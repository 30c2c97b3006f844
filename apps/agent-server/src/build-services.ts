import { randomUUID } from 'node:crypto';
import type { ThreadTtlSettings, WebhookSettings } from '#lib/graph-configuration';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { Agents } from './a2a/agents.js';
import { requireFileHosts } from './a2a/file-hosts.js';
import type { Part } from './a2a/task.js';
import { TaskPushes } from './a2a/task-pushes.js';
import { ContextThreads, Tasks } from './a2a/tasks.js';
import type { Assistants } from './assistant/assistants.js';
import type { ServerConfig } from './config.js';
import { LiveOutput, parseOutput } from './log/live-output.js';
import { parseRedisUri, RedisChannel } from './log/redis-channel.js';
import type { GraphHosts } from './hosting/graph-hosts.js';
import { ThreadState } from './http/thread-state.js';
import { CronService } from './cron/cron-service.js';
import { CronTicker } from './cron/cron-ticker.js';
import { FeedbackAddresses } from './run/feedback-addresses.js';
import { LeaseKeeper } from './run/lease-keeper.js';
import { Activity } from './http/open-replies.js';
import type { IdleDesk } from './http/probe-route.js';
import { IdleCheck, RunLoads } from './run/run-loads.js';
import { RunFollower } from './run/run-follower.js';
import { RunLogs } from './run/run-logs.js';
import { RunRelay } from './run/run-relay.js';
import { RunOutputs } from './run/run-outputs.js';
import { RunPriorities } from './run/run-priorities.js';
import { RunService } from './run/run-service.js';
import { TemporaryRuns, ThreadRuns } from './run/thread-runs.js';
import { ThreadWatch } from './run/thread-watch.js';
import { WatchAnswers } from './run/watch-answers.js';
import { Worker } from './run/worker.js';
import { buildWebhooks, type WebhookSender } from './webhook/webhook-sender.js';
import { TraceEraser } from './upkeep/trace-eraser.js';
import { ThreadSweeper } from './upkeep/thread-sweeper.js';
import type { OwnApp } from './webhook/webhook-policy.js';
import type { Database } from './store/database.js';
import type { ServerIdentity } from './store/row/claimed-run.js';
import type { SecretWords } from './wire/secret-words.js';

export interface ServiceParts {
  readonly config: ServerConfig;
  /** Webhook settings of `langgraph.json`. */
  readonly webhookSettings: WebhookSettings;
  /** True when the agent has an HTTP app, in this process or in that of a server beside it. */
  readonly hasApp: boolean;
  /** HTTP app of the agent, when this server has it. */
  readonly app: OwnApp | undefined;
  /** HTTP app of the agent, when this server has it. */
  readonly threadTtl: ThreadTtlSettings;
  /** True when the agent assigns priorities to runs. */
  readonly ranksRuns: boolean;
  /** Settings of the agent for the lifetime of threads. */
  readonly database: Database;
  /** Ids of the graphs of this revision. */
  readonly graphs: ReadonlySet<string>;
  readonly hosts: GraphHosts;
  readonly assistants: Assistants;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Services for runs and threads. */
export interface Services {
  readonly server: ServerIdentity;
  readonly logs: RunLogs;
  readonly worker: Worker;
  readonly watches: WatchAnswers;
  readonly loads: RunLoads;
  readonly activity: Activity;
  /** Answers whether the server is idle; undefined when no client may ask. */
  readonly idle: IdleDesk | undefined;
  readonly keeper: LeaseKeeper;
  readonly follower: RunFollower;
  readonly runs: RunService;
  readonly outputs: RunOutputs;
  readonly webhooks: WebhookSender;
  readonly crons: CronService;
  readonly ticker: CronTicker;
  readonly threadSweeper: ThreadSweeper;
  /** Undefined when the server belongs to no platform. */
  readonly traceEraser: TraceEraser | undefined;
  readonly state: ThreadState;
  readonly agents: Agents;
  readonly tasks: Tasks;
  readonly pushes: TaskPushes;
  readonly contexts: ContextThreads;
  /** Refuses files on hosts that users may not make the deployment call. */
  readonly requireHosts: (parts: readonly Part[]) => Promise<void>;
  readonly watch: ThreadWatch;
  /** Undefined without `REDIS_URI`. */
  readonly redis: RedisChannel | undefined;
}

/** Builds everything that the routes call, and the services beside them. Nothing is started. */
export function buildServices(parts: ServiceParts): Services {
  const { config, database, graphs, hosts, assistants, clock, log } = parts;
  const { sql, renewals } = database;
  const { leaseMs, maxTakeovers } = config;
  const server = { serverId: randomUUID(), leaseMs, maxTakeovers, graphIds: [...graphs] };
  const limits = {
    runBytes: config.runLogMegabytes * 2 ** 20,
    processBytes: config.logMegabytes * 2 ** 20,
    keptMs: config.logSeconds * 1000,
    resumableMs: config.resumableSeconds * 1000,
  };
  const logs = new RunLogs(clock, limits);
  const redis = openRedis(parts, server.serverId, {
    receive: (event) => follower.receive(event),
    askAgain: () => follower.askAgain(),
  });
  const relay = new RunRelay(sql, log, redis?.live);
  const temporary = new TemporaryRuns(sql, server, clock);
  const onThreads = new ThreadRuns(sql, server);
  const follower = new RunFollower({ sql, server, logs, isLive: redis !== undefined, clock, log });
  const runLimits = { perAssistant: config.runsPerAssistant, perCaller: config.runsPerCaller };
  const webhooks = buildWebhooks({ ...parts, renderPush: (push) => pushes.render(push) });
  const { authUrl, platformKey } = config;
  const platform =
    authUrl !== '' && platformKey !== undefined ? { url: authUrl, key: platformKey } : undefined;
  const worker = new Worker({
    sql,
    hosts,
    server,
    limits: runLimits,
    takesRuns: config.role !== 'api',
    runTimeoutMs: config.runTimeoutSeconds * 1000,
    temporary,
    onThreads,
    relay,
    logs,
    followed: follower,
    feedback: new FeedbackAddresses(platform, log),
    clock,
    log,
  });
  const watch = new ThreadWatch({ sql, clock, log });
  const outputs = new RunOutputs({ sql, logs, follower, worker, clock, log });
  const priorities = parts.ranksRuns
    ? new RunPriorities({ ask: (asked, signal) => hosts.ask('priority', asked, signal), clock })
    : undefined;
  const runs = new RunService({
    sql,
    server,
    assistants,
    graphs,
    temporary,
    onThreads,
    worker,
    watch,
    clock,
    logs,
    outputs,
    follower,
    webhooks: webhooks.policy,
    maxRecursionLimit: config.maxRecursionLimit,
    limits: runLimits,
    priorities,
  });
  const activity = new Activity(clock);
  const contexts = new ContextThreads(sql);
  const requireHosts = (given: readonly Part[]): Promise<void> =>
    requireFileHosts(given, webhooks.guard, clock);
  const state = new ThreadState({ sql, assistants, graphs, hosts, clock });
  const tasks = new Tasks({ sql, runs, outputs, states: state, contexts, requireHosts, clock });
  const pushes = new TaskPushes({ sql, tasks, policy: webhooks.policy });
  return {
    server,
    logs,
    worker,
    loads: new RunLoads({ sql, server, worker, clock }),
    activity,
    idle: idleDesk(config, new IdleCheck({ sql, server, worker, activity, erases: platform !== undefined })),
    watches: new WatchAnswers({ worker, logs, relay, clock }),
    follower,
    keeper: new LeaseKeeper({ sql, renewals, server, temporary, relay, worker, kept: limits, clock, log }),
    webhooks: webhooks.sender,
    watch,
    redis: redis?.channel,
    crons: new CronService({
      sql,
      assistants,
      webhooks: webhooks.policy,
      clock,
      limits: {
        maxCrons: config.maxCrons,
        maxCronsOfCaller: config.maxCronsPerCaller || Math.ceil(config.maxCrons / 2),
        minIntervalSeconds: config.cronMinIntervalSeconds,
        maxRecursionLimit: config.maxRecursionLimit,
      },
    }),
    traceEraser: platform && new TraceEraser({ sql, platform, clock, log }),
    threadSweeper: new ThreadSweeper({ sql, settings: parts.threadTtl, clock, log }),
    ticker: new CronTicker({
      sql,
      server,
      assistants,
      watch,
      clock,
      log,
      maxRecursionLimit: config.maxRecursionLimit,
      priorities,
    }),
    runs,
    outputs,
    state,
    agents: new Agents(assistants, hosts),
    tasks,
    pushes,
    contexts,
    requireHosts,
  };
}

/** Undefined for a server that only takes runs: requests do not wait for it. */
function idleDesk({ idleTokenDigest, role }: ServerConfig, check: IdleCheck): IdleDesk | undefined {
  return idleTokenDigest === undefined || role === 'queue'
    ? undefined
    : { tokenDigest: idleTokenDigest, ask: (close) => check.ask(close) };
}

interface Redis {
  readonly channel: RedisChannel;
  readonly live: LiveOutput;
}

/** The way of live output between servers. Nothing is connected yet. */
function openRedis(
  { config, secrets, clock, log }: ServiceParts,
  serverId: string,
  follower: Pick<RunFollower, 'receive' | 'askAgain'>,
): Redis | undefined {
  const { redisUri, redisKeyPrefix, tenantId, deployment = '' } = config;
  if (redisUri === undefined) return undefined;
  const channelOf = (id: string): string =>
    `${redisKeyPrefix}agentplane:${tenantId}:${deployment}:output:${id}`;
  const channel = new RedisChannel({
    places: parseRedisUri(redisUri),
    channel: channelOf(serverId),
    secrets,
    clock,
    log,
    onMessage: (text) => {
      const events = parseOutput(text);
      if (events) for (const event of events) follower.receive(event);
      else log.warn({ bytes: text.length }, 'Redis brought a message that no agent server sends; ignored');
    },
    onChange: () => void follower.askAgain(),
  });
  return { channel, live: new LiveOutput(channel, channelOf) };
}
