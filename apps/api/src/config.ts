import { isIP } from 'node:net';
import {
  choice,
  ConfigError,
  flag,
  integer,
  list,
  loadConfig,
  optionalChecked,
  optionalParsed,
  optionalText,
  text,
  type Config,
} from '#lib/config';
import { isBelow } from '#lib/manifests';
import { LAKE_FIELDS } from '#lib/trace-store';

function requireHttpUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error(`must be an http or https URL without a query, but is ${JSON.stringify(text)}`);
}

function parseProxies(text: string): readonly string[] {
  const proxies = text.split(',').map((word) => word.trim());
  for (const proxy of proxies) {
    const [address = '', bits, ...rest] = proxy.split('/');
    const most = { 4: 32, 6: 128 }[isIP(address)] ?? -1;
    const isFine =
      bits === undefined ? most > 0 : /^\d{1,3}$/.test(bits) && Number(bits) <= most && Number(bits) > 0;
    if (!isFine || rest.length > 0)
      throw new Error(
        `must be addresses or networks separated by commas, as 10.0.0.5 or 10.0.0.0/24, but has ${JSON.stringify(proxy)}`,
      );
  }
  return proxies;
}

/** The chart refuses the same. Names that end with a label of digits are read as addresses of IPv4. */
const DOMAIN = /^(?!.*(^|\.)\d+$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/**
 * Requires a domain. Any other text cannot have hosts below it, so it would have no effect without an error.
 */
function requireDomain(text: string): string {
  const domain = text.toLowerCase();
  if (DOMAIN.test(domain)) return domain;
  throw new Error(
    `must be domain names such as agents.example.com, without scheme, port, "*" or a dot at either end, but has ${JSON.stringify(text)}`,
  );
}

const ROUTE_DOMAINS = list(
  'AGENTPLANE_ROUTE_DOMAINS',
  'domains below which hosts lead to deployments, by custom_url and, below the first, by name, such as agents.example.com; separated by commas. The host of AGENTPLANE_PUBLIC_URL, which domains outside of localhost need, must not lie below one. Empty: no host leads to a deployment',
  { fallback: [] },
);

/** Settings of the api program. */
export const CONFIG = {
  host: text('HOST', 'address to listen on', { fallback: '127.0.0.1' }),
  port: integer('PORT', 'port to listen on; 0 picks a free one', { fallback: 8470, max: 65_535 }),
  tlsHost: text('AGENTPLANE_TLS_HOST', 'address to listen on with TLS', { fallback: '0.0.0.0' }),
  tlsPort: integer('AGENTPLANE_TLS_PORT', 'port to listen on with TLS; 0 picks a free one', {
    fallback: 0,
    max: 65_535,
  }),
  tlsCertificate: optionalText(
    'AGENTPLANE_TLS_CERTIFICATE',
    'PEM file of the certificate for TLS, with those that lead to its authority, read again when it changes; absent: no TLS',
  ),
  tlsKey: optionalText('AGENTPLANE_TLS_KEY', 'PEM file of its private key'),
  trustedProxies: optionalParsed(
    'AGENTPLANE_TRUSTED_PROXIES',
    'addresses and networks of proxies whose X-Forwarded-For, -Proto and -Host are believed, separated by commas, for example 10.0.0.0/24; absent: none',
    parseProxies,
  ),
  drainMs: integer(
    'AGENTPLANE_DRAIN_MS',
    'milliseconds that it serves on after it was asked to stop, while those who send requests learn of that; it ends each connection with an answer meanwhile',
    { fallback: 0, max: 15_000 },
  ),
  /** Domains in lower case, as hosts of requests are compared. */
  routeDomains: {
    ...ROUTE_DOMAINS,
    parse: (text: string) => ROUTE_DOMAINS.parse(text).map(requireDomain),
  },
  addresses: choice('AGENTPLANE_ADDRESSES', 'how Services are reached', ['loopback', 'cluster-dns'], {
    fallback: 'cluster-dns',
  }),
  agentDatabaseImage: optionalText(
    'AGENTPLANE_AGENT_DATABASE_IMAGE',
    'as of the controller: whether db_* of a deployment have an effect; absent: answers name them as ignored',
  ),
  buildNamespace: optionalText(
    'AGENTPLANE_BUILD_NAMESPACE',
    'namespace of builds from git that push to a registry, where their logs are read; on one machine they are beside their revisions',
  ),
  databaseUri: text('AGENTPLANE_DATABASE_URI', "the trace store's Postgres", { secret: true }),
  databasePoolSize: integer(
    'AGENTPLANE_DATABASE_POOL_SIZE',
    'most database connections, two that check keys not counted',
    {
      fallback: 8,
      min: 2,
      max: 200,
    },
  ),
  kubeconfig: optionalText('KUBECONFIG', 'kubeconfig file; absent inside of a cluster'),
  systemNamespace: text('AGENTPLANE_SYSTEM_NAMESPACE', "the platform's own namespace", {
    fallback: 'agentplane-system',
  }),
  maxBodyBytes: integer('AGENTPLANE_MAX_BODY_BYTES', 'largest body of one trace request in bytes', {
    fallback: 134_217_728,
    min: 1_048_576,
  }),
  maxBufferedBytes: integer(
    'AGENTPLANE_MAX_BUFFERED_BYTES',
    'bytes of trace requests held in memory at a time, and of runs in answers; one workspace gets at most half; above it requests get 429',
    { fallback: 268_435_456, min: 1_048_576 },
  ),
  allowPrivateEndpoints: flag(
    'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS',
    'whether destinations may lead into private networks and to this machine',
    { fallback: false },
  ),
  exportWebhookPrivateAddresses: flag(
    'AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES',
    'whether webhooks of exports may lead into private networks and to this machine',
    { fallback: false },
  ),
  dataFolder: optionalText(
    'AGENTPLANE_DATA',
    'folder whose disk holds the stores; GET /ok reports when it has no space left. Absent in a cluster',
  ),
  modelPrices: optionalText(
    'AGENTPLANE_MODEL_PRICES',
    'file of prices of models that takes the place of those the platform brings, read at the start; see docs/costs.md',
  ),
  operatorKey: optionalText(
    'AGENTPLANE_OPERATOR_KEY',
    'key (apo_…) that manages the API keys of every workspace and nothing else; absent: no such key',
    { secret: true },
  ),
  wrongKeysPerMinute: integer(
    'AGENTPLANE_WRONG_KEYS_PER_MINUTE',
    'wrong API keys from one address, or with one public part, that are answered 401 in a minute, and unknown links to traces from one address that are answered 404; more get 429',
    { fallback: 600, min: 1, max: 1_000_000 },
  ),
  maxKeys: integer(
    'AGENTPLANE_KEYS_PER_WORKSPACE',
    'most API keys of a workspace in force, those of deployments not counted',
    { fallback: 1_000, min: 1 },
  ),
  maxUnfinishedExports: integer(
    'AGENTPLANE_EXPORTS_PER_WORKSPACE',
    'most bulk exports of a workspace that have not ended, beyond which a request for another is answered 429; schedules and what they make are not refused',
    { fallback: 1_000, min: 1 },
  ),
  maxProjects: integer('AGENTPLANE_PROJECTS_PER_WORKSPACE', 'most tracing projects of a workspace', {
    fallback: 10_000,
    min: 1,
  }),
  maxDatasets: integer('AGENTPLANE_DATASETS_PER_WORKSPACE', 'most datasets of a workspace', {
    fallback: 1_000,
    min: 1,
  }),
  maxDatasetBytes: integer(
    'AGENTPLANE_DATASET_BYTES_PER_WORKSPACE',
    'most bytes of the examples of a workspace in all versions; what versions share counts once',
    { fallback: 10_737_418_240, min: 0 },
  ),
  corsOrigins: list(
    'AGENTPLANE_CORS_ORIGINS',
    'origins of web pages that may read answers, separated by commas, for example https://app.example.com; * for any; empty: none',
    { fallback: [] },
  ),
  publicUrl: optionalChecked(
    'AGENTPLANE_PUBLIC_URL',
    'address under which clients reach this program, for the URLs of attachments and of feedback tokens; absent: the host of requests that name this machine, its certificate or a Service, and of those from a trusted proxy; else URLs are paths',
    requireHttpUrl,
  ),
  ...LAKE_FIELDS,
  attachmentPrefix: text('AGENTPLANE_ATTACHMENT_PREFIX', 'folder of the bucket for attachments', {
    fallback: 'attachments',
  }),
  attachmentUrlKey: optionalText(
    'AGENTPLANE_ATTACHMENT_URL_KEY',
    'long random text that URLs of attachments are signed with, the same for all replicas; absent: derived from the secret key',
    { secret: true },
  ),
  maxAttachmentBytes: integer(
    'AGENTPLANE_ATTACHMENT_BYTES_PER_WORKSPACE',
    'most bytes of the attachments of a workspace',
    { fallback: 10_737_418_240, min: 0 },
  ),
  auditLog: optionalText(
    'AGENTPLANE_AUDIT_LOG',
    'file of the audit log, rotated; - for standard output; absent: no audit log',
  ),
  logLevel: choice(
    'AGENTPLANE_LOG_LEVEL',
    'least severity that is logged',
    ['debug', 'info', 'warn', 'error'],
    {
      fallback: 'info',
    },
  ),
};

/** Their values. */
export type ApiConfig = Config<typeof CONFIG>;

/** @throws ConfigError */
export function loadApiConfig(environment?: Readonly<Record<string, string | undefined>>): ApiConfig {
  const config = environment ? loadConfig(CONFIG, environment) : loadConfig(CONFIG);
  requireOwnHost(config);
  return config;
}

/**
 * Refuses a domain above the api's own host: a deployment that asked for this host would be sent the requests
 * of clients of the api, keys included. The domain may be the host itself, as hosts of deployments are below
 * it. A page there could set a cookie for the api, as one on any host below a common domain could; only the
 * api's pages read cookies, and they show what their session may read.
 */
function requireOwnHost({ publicUrl, routeDomains }: ApiConfig): void {
  if (publicUrl === undefined) {
    const unknown = routeDomains.find((domain) => domain !== 'localhost' && !isBelow(domain, ['localhost']));
    if (unknown === undefined) return;
    throw new ConfigError([
      `AGENTPLANE_ROUTE_DOMAINS has ${unknown}, and AGENTPLANE_PUBLIC_URL is missing: without it nothing shows whether the api's own host lies below that domain, where a deployment could be taken for the api; set it to the URL that clients call the api by`,
    ]);
  }
  const host = new URL(publicUrl).hostname.replace(/\.$/, '');
  const domain = routeDomains.find((one) => isBelow(host, [one]));
  if (domain !== undefined)
    throw new ConfigError([
      `AGENTPLANE_ROUTE_DOMAINS has ${domain}, below which ${host} of AGENTPLANE_PUBLIC_URL lies: a deployment there could be taken for the api; use a domain that it does not lie below, such as ${host}`,
    ]);
}
