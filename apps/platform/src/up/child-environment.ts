import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment, PROXY_VARIABLES, proxyEnvironment } from '#lib/config';
import {
  ATTACHMENT_BUCKET,
  ATTACHMENT_PREFIX,
  type CertificateFiles,
  type DataPaths,
  LAKE_PREFIX,
  type PlatformCredentials,
  type StoreCredentials,
} from '#lib/data-folder';
import { TRACING_VARIABLES } from '#lib/telemetry';
import { urlHost } from '#lib/url';
import type { Ports } from '../data-folder/ports.js';
import { reachableAddresses } from '../preparation/reachable-addresses.js';

const ALL = ['0.0.0.0', '::'];

/**
 * The host by which other machines reach the platform: that of its public URL, else the address that it listens on, else
 * the first address of this machine that others can reach.
 */
export function hostForOthers(listensOn: string, publicUrl: string | undefined): string {
  if (publicUrl !== undefined && URL.canParse(publicUrl))
    return new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  if (!ALL.includes(listensOn)) return listensOn;
  return reachableAddresses().find(({ internal }) => !internal)?.address ?? '127.0.0.1';
}

/** `https://HOST:PORT`. */
export function tlsUrl(host: string, port: number): string {
  return `https://${urlHost(host)}:${port}`;
}

/** Metrics address of each program that is no pod. */
export function metricsAddresses(ports: Ports): PlatformCredentials['metrics'] {
  const at = (port: number): string => `http://127.0.0.1:${port}/metrics`;
  return {
    supervisor: at(ports.supervisorMetrics),
    api: at(ports.apiMetrics),
    controller: at(ports.controller),
    embedded: at(ports.embeddedMetrics),
  };
}

/** The node offers as many at least. */
const LEAST_CPUS = 4;

/** Variables of this program's environment that every program gets. */
const INHERITED = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'NODE_COMPILE_CACHE',
  'AGENTPLANE_LOG_LEVEL',
  ...TRACING_VARIABLES,
  ...PROXY_VARIABLES,
];

/** The platform's own store, and the folder of the lake in it. */
const STORE_VARIABLES = [
  'AGENTPLANE_ATTACHMENT_BUCKET',
  'AGENTPLANE_ATTACHMENT_ENDPOINT',
  'AGENTPLANE_ATTACHMENT_REGION',
  'AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID',
  'AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY',
  'AGENTPLANE_LAKE_PREFIX',
];

/** Variables of attachments in that store. */
const ATTACHMENT_VARIABLES = ['AGENTPLANE_ATTACHMENT_PREFIX', 'AGENTPLANE_ATTACHMENT_URL_KEY'];

/** Variables of sealing, for the api, which reads sealed days, and for the controller, whose workers seal them. */
const LAKE_VARIABLES = [
  'AGENTPLANE_LAKE',
  'AGENTPLANE_LAKE_QUIET_HOURS',
  'AGENTPLANE_LAKE_ERASE_HOURS',
  'AGENTPLANE_LAKE_KEPT_HOURS',
  'AGENTPLANE_LAKE_ONLY_WRITER',
];

/** Variables for the api, which refuses addresses, and for the controller, which calls them. */
const WEBHOOK_VARIABLES = ['AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES'];

/** Limits of exports, all of them the controller's; it hands those of files on to the workers. */
const EXPORT_VARIABLES = [
  'AGENTPLANE_EXPORT_RETRIES',
  'AGENTPLANE_EXPORT_RETRY_DELAY_MS',
  'AGENTPLANE_EXPORT_RUN_TIMEOUT_MS',
  'AGENTPLANE_EXPORT_TIMEOUT_MS',
  'AGENTPLANE_EXPORT_CONCURRENT_RUNS',
  'AGENTPLANE_EXPORT_CONCURRENT_EXPORTS',
  'AGENTPLANE_EXPORT_ALL_RUNS',
  'AGENTPLANE_EXPORT_RUNS_OF_WORKER',
  'AGENTPLANE_EXPORT_RUNS_WITHIN_MS',
  'AGENTPLANE_EXPORT_HISTORY_MS',
  'AGENTPLANE_EXPORT_HISTORY_COUNT',
  'AGENTPLANE_EXPORT_FILE_BYTES',
  'AGENTPLANE_EXPORT_FILE_ROWS',
];

/** Limits of builds from git. */
const BUILD_VARIABLES = [
  'AGENTPLANE_BUILDS',
  'AGENTPLANE_BUILD_TIMEOUT_MS',
  'AGENTPLANE_BUILD_MEMORY_MB',
  'AGENTPLANE_BUILD_IMAGE_MB',
  'AGENTPLANE_BUILD_IMAGES_MB_PER_WORKSPACE',
  'AGENTPLANE_BUILD_PUSH_PERIOD_MS',
  'AGENTPLANE_BUILD_NPM_REGISTRY',
  'AGENTPLANE_BUILD_PYTHON_INDEX',
];

/** The REST interface with TLS. */
export interface TlsListening {
  readonly host: string;
  readonly port: number;
  readonly files: CertificateFiles;
}

/** Input for the environments of the programs. */
export interface Surroundings {
  readonly paths: DataPaths;
  readonly ports: Ports;
  readonly installation: string;
  readonly host: string;
  readonly databaseUri: string;
  readonly databaseAdminUri: string;
  /** Undefined with a cluster of one's own. */
  readonly kubeDatabaseUri: string | undefined;
  readonly kubeconfigPath: string;
  readonly store: StoreCredentials;
  /** Keys of the platform's own store: attachments and sealed days. */
  readonly attachmentKeys: Pick<StoreCredentials, 'accessKeyId' | 'secretAccessKey'>;
  readonly operatorKey: string;
  readonly apiUrl: string;
  /** Address for other machines; absent: none. */
  readonly tls: TlsListening | undefined;
}

type Environment = Readonly<Record<string, string>>;

/**
 * Settings for programs that mostly wait: glibc keeps all memory that each of their threads has ever needed
 * in arenas of its own, and keeps more of it the larger it once was. Programs that compress or hash in
 * threads would contend for one arena. Read as a process starts.
 */
export const FRUGAL_MEMORY = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '65536',
};

/** Settings of every program. */
export function programEnvironment(): Environment {
  return inheritedEnvironment(INHERITED);
}

/** Settings of `apps/embedded`. */
export function embeddedEnvironment(from: Surroundings): Environment {
  const { paths, ports, store, kubeDatabaseUri, kubeconfigPath, installation } = from;
  return {
    ...programEnvironment(),
    ...inheritedEnvironment(['AGENTPLANE_POD_USERS', 'AGENTPLANE_NAMESPACE_QUOTA', 'AGENTPLANE_SPARES']),
    // for the pods: the platform's own address is reached without a proxy
    ...proxyEnvironment([from.host, `[${from.host}]`]),
    AGENTPLANE_DATA: paths.root,
    AGENTPLANE_INSTALLATION: installation,
    AGENTPLANE_AUDIT_LOG: join(paths.logs, 'audit-kubernetes.log'),
    AGENTPLANE_KUBE_PORT: String(ports.kube),
    AGENTPLANE_NODE_PORT: String(ports.node),
    AGENTPLANE_METRICS_PORT: String(ports.embeddedMetrics),
    AGENTPLANE_OBJECT_STORE_PORT: String(ports.objectStore),
    AGENTPLANE_OBJECT_STORE_REGION: store.region,
    AGENTPLANE_OBJECT_STORE_BUCKET: store.bucket,
    AGENTPLANE_ATTACHMENT_BUCKET: ATTACHMENT_BUCKET,
    ...(kubeDatabaseUri === undefined
      ? { KUBECONFIG: kubeconfigPath }
      : { AGENTPLANE_KUBE_DATABASE_URI: kubeDatabaseUri }),
  };
}

/** True when the environment names a store in place of the embedded one. */
function hasOwnStore(): boolean {
  return inheritedEnvironment(STORE_VARIABLES)['AGENTPLANE_ATTACHMENT_BUCKET'] !== undefined;
}

/** The platform's own store: the embedded one, or that of the environment, whole or not at all. */
function storeEnvironment({ store, attachmentKeys }: Surroundings): Environment {
  if (hasOwnStore()) return inheritedEnvironment(STORE_VARIABLES);
  return {
    AGENTPLANE_ATTACHMENT_BUCKET: ATTACHMENT_BUCKET,
    AGENTPLANE_ATTACHMENT_ENDPOINT: store.endpoint,
    AGENTPLANE_ATTACHMENT_REGION: store.region,
    AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: attachmentKeys.accessKeyId,
    AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY: attachmentKeys.secretAccessKey,
    AGENTPLANE_LAKE_PREFIX: LAKE_PREFIX,
  };
}

function attachmentEnvironment(): Environment {
  return hasOwnStore()
    ? inheritedEnvironment(ATTACHMENT_VARIABLES)
    : { AGENTPLANE_ATTACHMENT_PREFIX: ATTACHMENT_PREFIX };
}

/**
 * Days are sealed into the embedded store, which is part of backups and which no other database uses, unless the environment
 * decides otherwise; into another store only where it says so.
 */
function lakeSettings(): Environment {
  const given = inheritedEnvironment(LAKE_VARIABLES);
  return hasOwnStore() ? given : { AGENTPLANE_LAKE: 'on', AGENTPLANE_LAKE_ONLY_WRITER: 'true', ...given };
}

/** The controller gets the keys of the store for the workers that seal days, and only where there are any. */
function lakeEnvironment(from: Surroundings): Environment {
  const given = lakeSettings();
  const { AGENTPLANE_LAKE: lake = 'off' } = given;
  return lake === 'off' ? given : { ...storeEnvironment(from), ...given };
}

function tlsEnvironment({ tls }: Surroundings): Environment {
  if (!tls) return {};
  return {
    AGENTPLANE_TLS_HOST: tls.host,
    AGENTPLANE_TLS_PORT: String(tls.port),
    AGENTPLANE_TLS_CERTIFICATE: tls.files.certificate,
    AGENTPLANE_TLS_KEY: tls.files.key,
  };
}

/** Settings of `apps/api`. */
export function apiEnvironment(from: Surroundings, kubeconfig: string): Environment {
  return {
    ...programEnvironment(),
    KUBECONFIG: kubeconfig,
    HOST: from.host,
    PORT: String(from.ports.rest),
    AGENTPLANE_AUDIT_LOG: join(from.paths.logs, 'audit-api.log'),
    ...inheritedEnvironment([
      'AGENTPLANE_MODEL_PRICES',
      'AGENTPLANE_WRONG_KEYS_PER_MINUTE',
      'AGENTPLANE_KEYS_PER_WORKSPACE',
      'AGENTPLANE_PROJECTS_PER_WORKSPACE',
      'AGENTPLANE_EXPORTS_PER_WORKSPACE',
      'AGENTPLANE_DATASETS_PER_WORKSPACE',
      'AGENTPLANE_DATASET_BYTES_PER_WORKSPACE',
      'AGENTPLANE_DATABASE_POOL_SIZE',
      'AGENTPLANE_MAX_BODY_BYTES',
      'AGENTPLANE_MAX_BUFFERED_BYTES',
      'AGENTPLANE_CORS_ORIGINS',
      'AGENTPLANE_PUBLIC_URL',
      'AGENTPLANE_TRUSTED_PROXIES',
      'AGENTPLANE_ATTACHMENT_BYTES_PER_WORKSPACE',
      ...WEBHOOK_VARIABLES,
    ]),
    // browsers and curl find every name below it on this machine
    AGENTPLANE_ROUTE_DOMAINS: 'agents.localhost',
    ...inheritedEnvironment(['AGENTPLANE_ROUTE_DOMAINS']),
    ...storeEnvironment(from),
    ...attachmentEnvironment(),
    ...lakeSettings(),
    ...tlsEnvironment(from),
    AGENTPLANE_DATA: from.paths.root,
    AGENTPLANE_METRICS_PORT: String(from.ports.apiMetrics),
    AGENTPLANE_DATABASE_URI: from.databaseUri,
    AGENTPLANE_API_URL: from.apiUrl,
    AGENTPLANE_ADDRESSES: 'loopback',
    AGENTPLANE_OPERATOR_KEY: from.operatorKey,
    // one machine is one trust domain: its own object store is on loopback
    AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
  };
}

/**
 * Runs of exports at a time: their workers request a quarter of a CPU each, outside of every workspace's quota, and have
 * two connections to the trace store. So many take half of what the node offers, and never all connections.
 */
function mostExportRuns(): number {
  return Math.min(16, 2 * Math.max(LEAST_CPUS, availableParallelism()));
}

/** Settings of `apps/controller`. */
export function controllerEnvironment(from: Surroundings, kubeconfig: string): Environment {
  return {
    ...programEnvironment(),
    KUBECONFIG: kubeconfig,
    AGENTPLANE_DATABASE_URI: from.databaseUri,
    AGENTPLANE_DATABASE_ADMIN_URI: from.databaseAdminUri,
    AGENTPLANE_API_URL: from.apiUrl,
    AGENTPLANE_ADDRESSES: 'loopback',
    AGENTPLANE_INTERNAL_PORT: String(from.ports.controller),
    AGENTPLANE_IMAGE_STORE: from.paths.images,
    AGENTPLANE_POD_FOLDERS: join(from.paths.node, 'pods'),
    ...inheritedEnvironment([
      ...BUILD_VARIABLES,
      'AGENTPLANE_HEARTBEAT_STALE_MS',
      'AGENTPLANE_DATABASE_PASSWORD_DAYS',
    ]),
    AGENTPLANE_EXPORT_ALL_RUNS: String(mostExportRuns()),
    ...inheritedEnvironment([...EXPORT_VARIABLES, ...WEBHOOK_VARIABLES]),
    ...lakeEnvironment(from),
    AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
  };
}
