import {
  certificates,
  choice,
  flag,
  integer,
  list,
  loadConfig,
  optionalText,
  optionalChecked,
  text,
  url,
  type Config,
} from '#lib/config';
import { parseRedisUri } from './log/redis-channel.js';

/** Settings of the agent server. */
export const CONFIG = {
  host: text('HOST', 'Address to listen on.', { fallback: '0.0.0.0' }),
  port: integer('PORT', 'Port to listen on; 0 picks a free one.', { fallback: 8000, max: 65_535 }),
  postgresUri: text('POSTGRES_URI', "The deployment's own database.", { secret: true }),
  trustedCa: certificates(
    'AGENTPLANE_TRUSTED_CA',
    'PEM of certificates that this process trusts besides public ones, such as that of the database; set by the platform.',
  ),
  redisUri: optionalChecked(
    'REDIS_URI',
    'Redis through which servers of the deployment send one another the output of runs: `redis://…`, `rediss://…`, hosts of a cluster separated by commas, or `redis+sentinel://HOST:PORT,…/PRIMARY`.',
    parseRedisUri,
    { secret: true },
  ),
  redisKeyPrefix: text('REDIS_KEY_PREFIX', 'Before the name of every channel in Redis.', { fallback: '' }),
  logLevel: choice('LOG_LEVEL', 'Least severe level that is logged.', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
  agentFolder: text(
    'AGENTPLANE_AGENT_FOLDER',
    'folder of the agent in its image, where that is a whole repository',
    { fallback: '.' },
  ),
  terminationMessagePath: text(
    'TERMINATION_MESSAGE_PATH',
    'File that receives the reason why this process ended.',
    { fallback: '/dev/termination-log' },
  ),

  python: optionalText(
    'AGENTPLANE_PYTHON',
    'Python that runs the graphs of an agent without an environment of its own (`.venv`).',
  ),

  hasReports: flag(
    'AGENTPLANE_REPORTS',
    'Whether the parent process gets reports of what was loaded, as `agentplane dev` does.',
    { fallback: false },
  ),

  auth: choice('AGENTPLANE_AUTH', '`off` accepts every request; for tests and `dev` only.', ['off', 'key'], {
    fallback: 'key',
  }),
  authUrl: url('AGENTPLANE_AUTH_URL', 'The platform that verifies API keys.', { fallback: '' }),
  platformKey: optionalText(
    'LANGSMITH_API_KEY',
    "The deployment's own key, with which the agent sends its traces.",
    {
      secret: true,
    },
  ),
  tenantId: text('AGENTPLANE_TENANT_ID', 'Tenant whose API keys may call this server.', { fallback: '' }),
  deployment: optionalText('AGENTPLANE_DEPLOYMENT', 'Name of the deployment, for /info.'),
  revision: optionalText('AGENTPLANE_REVISION', 'Name of the revision, for /info.'),
  idleTokenDigest: optionalText(
    'AGENTPLANE_IDLE_TOKEN_SHA256',
    'SHA-256, in hex, of the token with which a listener asks whether the server may be stopped for want of work; set by the platform.',
  ),

  corsOrigins: list(
    'CORS_ALLOW_ORIGINS',
    'Origins of web pages that may read answers, separated by commas; `*` for any.',
    { fallback: ['*'] },
  ),

  publicUrl: url('AGENTPLANE_PUBLIC_URL', 'Where clients call this server; agent cards name it.', {
    fallback: '',
  }),
  serviceUrl: url(
    'AGENTPLANE_SERVICE_URL',
    'Where the Service of the deployment is called; set by the platform.',
    {
      fallback: '',
    },
  ),
  trustForwarded: choice(
    'AGENTPLANE_TRUST_FORWARDED',
    '`on` when a proxy in front of every request sets `x-forwarded-host`, `-proto` and `-prefix` itself, and adds the address of the client to `x-forwarded-for`.',
    ['off', 'on'],
    { fallback: 'off' },
  ),

  wrongKeysPerMinute: integer(
    'AGENTPLANE_WRONG_KEYS_PER_MINUTE',
    'Wrong API keys from one address, or with one public part, that are answered 401 in a minute; more get 429.',
    { fallback: 600, min: 1, max: 1_000_000 },
  ),

  appAnswerMs: integer(
    'AGENTPLANE_APP_ANSWER_MS',
    "Milliseconds that the agent's HTTP app may take until it begins to answer; then its client gets 504.",
    { fallback: 60_000, min: 100, max: 3_600_000 },
  ),

  role: choice(
    'AGENTPLANE_ROLE',
    '`api` answers requests and leaves runs to others, `queue` takes runs and answers probes alone, `all` does both.',
    ['all', 'api', 'queue'],
    { fallback: 'all' },
  ),
  concurrency: integer(
    'N_JOBS_PER_WORKER',
    'Most runs executed at once: ten at first, more while event loop and heap of the graph hosts allow it.',
    { fallback: 100, min: 1, max: 1000 },
  ),
  runTimeoutSeconds: integer(
    'BG_JOB_TIMEOUT_SECS',
    'Seconds after which a run is stopped with the status `timeout`, its attempts together.',
    { fallback: 3_600, min: 1, max: 2_000_000 },
  ),
  runsPerAssistant: integer(
    'MAX_RUNS_PER_ASSISTANT',
    'Runs of one assistant at work at all servers together; 0 for no limit.',
    { fallback: 0, max: 1_000_000 },
  ),
  runsPerCaller: integer(
    'MAX_RUNS_PER_CALLER',
    'Runs of one caller at work at all servers together; 0 for no limit.',
    { fallback: 0, max: 1_000_000 },
  ),
  maxRecursionLimit: integer(
    'MAX_RECURSION_LIMIT',
    'Highest `recursion_limit` that a run may ask for: steps of its graph.',
    { fallback: 10_000, min: 1, max: 1_000_000 },
  ),
  maxCrons: integer('MAX_CRONS', 'Crons that the deployment may have.', {
    fallback: 1_000,
    max: 1_000_000,
  }),
  maxCronsPerCaller: integer(
    'MAX_CRONS_PER_CALLER',
    'Crons of one caller whom the agent authenticates; 0 for half of `MAX_CRONS`.',
    { fallback: 0, max: 1_000_000 },
  ),
  cronMinIntervalSeconds: integer('CRON_MIN_INTERVAL_SECONDS', 'Least seconds between two fires of a cron.', {
    fallback: 60,
    min: 1,
  }),
  leaseMs: integer(
    'AGENTPLANE_RUN_LEASE_MS',
    'Milliseconds without a heartbeat after which another server takes a run over.',
    { fallback: 15_000, min: 300 },
  ),
  maxTakeovers: integer(
    'AGENTPLANE_RUN_MAX_TAKEOVERS',
    'Times that a run may be taken over from a dead server before it fails.',
    { fallback: 3 },
  ),
  drainMs: integer('AGENTPLANE_DRAIN_MS', 'Milliseconds that running runs get to finish on stop.', {
    fallback: 12_000,
  }),
  settleMs: integer(
    'AGENTPLANE_SETTLE_MS',
    'Milliseconds of these that those who wait for runs of other servers are not cut off; more than these lengthen the stop.',
    { fallback: 2_000 },
  ),
  startPatienceMs: integer(
    'AGENTPLANE_START_PATIENCE_MS',
    'Milliseconds that the database may be unavailable at the start; then the process exits with 75.',
    // shorter than the liveness probe of its pod allows
    { fallback: 120_000 },
  ),
  unreadMegabytes: integer(
    'AGENTPLANE_UNREAD_MB',
    'Megabytes of output that wait for single clients, beside the logs of runs. Above it, clients that take nothing are disconnected; above four times of it, those with most unread.',
    { fallback: 32, min: 1, max: 1_000_000 },
  ),
  webhookSecret: optionalText(
    'RUN_WEBHOOK_SECRET',
    'Secret with which calls of webhooks are signed (`whsec_` and base64, or any text); several, separated by commas, while one replaces another.',
    { secret: true },
  ),
  webhookPrivateAddresses: flag(
    'RUN_WEBHOOK_PRIVATE_ADDRESSES',
    'Whether webhooks may call loopback and private networks; link-local and metadata addresses they never may.',
    { fallback: false },
  ),
  webhookRetrySeconds: integer(
    'RUN_WEBHOOK_RETRY_SECONDS',
    'Seconds after the end of a run during which its webhook is called again when that failed.',
    { fallback: 86_400, min: 1, max: 2_592_000 },
  ),
  eventMegabytes: integer(
    'AGENTPLANE_EVENT_MB',
    'Megabytes of one event, result or state that a graph host hands over. A run that makes a larger one fails.',
    { fallback: 64, min: 1, max: 500 },
  ),
  runLogMegabytes: integer(
    'AGENTPLANE_RUN_LOG_MB',
    'Megabytes of output that are kept of one run. A reader that falls further behind is cut off, one that still takes events only above AGENTPLANE_LOG_MB.',
    { fallback: 32, min: 1, max: 100_000 },
  ),
  logMegabytes: integer(
    'AGENTPLANE_LOG_MB',
    'Megabytes of output that are kept of all runs together. Above it, runs that ended give way first.',
    { fallback: 64, min: 1, max: 1_000_000 },
  ),
  logSeconds: integer(
    'AGENTPLANE_LOG_SECONDS',
    'Seconds that the output of a run is kept for readers that come back, after its end or without readers.',
    { fallback: 60, min: 1, max: 86_400 },
  ),
  resumableSeconds: integer(
    'AGENTPLANE_RESUMABLE_LOG_SECONDS',
    'Seconds that the output of a run with `stream_resumable` is kept after its end.',
    { fallback: 600, min: 1, max: 86_400 },
  ),
  poolSize: integer(
    'AGENTPLANE_POOL_SIZE',
    'Database connections for queries, half of them for graphs; two more are kept aside.',
    {
      fallback: 7,
      min: 4,
      max: 50,
    },
  ),
  searchSeconds: integer(
    'AGENTPLANE_SEARCH_SECONDS',
    'Seconds that a search, count or list of a caller may take in the database; then it is stopped there and refused.',
    { fallback: 5, min: 1, max: 3_600 },
  ),
  graphHosts: integer(
    'AGENTPLANE_GRAPH_HOSTS',
    'Processes that run graphs; a node that computes without a pause harms the runs of its own process only.',
    { fallback: 1, min: 1, max: 16 },
  ),
  spareGraphHosts: integer(
    'AGENTPLANE_SPARE_GRAPH_HOSTS',
    'Processes that have loaded the graphs and wait for one that runs them to end or to hang; kept from the first such case on, while 1 GiB of memory is free.',
    { fallback: 1, min: 0, max: 1 },
  ),
};

/** The settings of this program, parsed once. */
export type ServerConfig = Config<typeof CONFIG>;

/**
 * @throws ConfigError when a setting is missing or wrong
 */
export function readServerConfig(environment?: Readonly<Record<string, string | undefined>>): ServerConfig {
  return environment === undefined ? loadConfig(CONFIG) : loadConfig(CONFIG, environment);
}
