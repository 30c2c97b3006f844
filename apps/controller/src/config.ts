import {
  certificates,
  choice,
  type Config,
  flag,
  integer,
  list,
  optionalChecked,
  optionalParsed,
  optionalText,
  PLATFORM_VERSION,
  text,
  url,
} from '#lib/config';
import { DEFAULT_EXPORT_LIMITS, type ExportLimits } from '#lib/export-plan';
import {
  type DatabaseServerSettings,
  parseAgentVolumes,
  parseAgentPlacement,
  parseEgressRules,
  parsePodPlacement,
  parsePodSecurityLevel,
  type PlatformSettings,
} from '#lib/manifests';
import { FIELD_MANAGER } from '#lib/resources';
import { podTracingVariables } from '#lib/telemetry';
import { LAKE_FIELDS, lakeVariables } from '#lib/trace-store';
import type { ExportHistory } from './export-archive/decide-archive.js';

/** Workspaces read it in the Jobs of their builds. @throws Error that does not repeat it */
function requireNoPassword(address: string): void {
  const { username, password, protocol, search } = URL.canParse(address) ? new URL(address) : {};
  if (!/^https?:$/.test(protocol ?? '') || username !== '' || password !== '' || search !== '')
    throw new Error(
      'must be an http or https URL without a name, a password and a query: every workspace that builds can read it',
    );
}

const REGISTRY = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d+)?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)*$/;

function requireRegistry(text: string): void {
  if (!REGISTRY.test(text))
    throw new Error(
      `must be a registry such as registry.example.com/team/agents, in lower case and without a scheme, but is ${JSON.stringify(text)}`,
    );
}

/** Settings of the controller. */
export const CONFIG = {
  kubeconfigPath: optionalText(
    'KUBECONFIG',
    'path of a kubeconfig; the mounted service account when missing',
  ),
  databaseUri: text('AGENTPLANE_DATABASE_URI', 'URI of the trace store', { secret: true }),
  databaseAdminUri: text(
    'AGENTPLANE_DATABASE_ADMIN_URI',
    'URI of a server where databases and roles of deployments may be created',
    { secret: true },
  ),
  databasePasswordDays: integer(
    'AGENTPLANE_DATABASE_PASSWORD_DAYS',
    'days after which the password of a deployment’s database is replaced, and its pods with it; 0: never',
    { fallback: 0, min: 0 },
  ),
  systemNamespace: text('AGENTPLANE_SYSTEM_NAMESPACE', 'namespace of the platform itself', {
    fallback: 'agentplane-system',
  }),
  apiUrl: url('AGENTPLANE_API_URL', 'address of the api program, handed on to agents'),
  addresses: choice('AGENTPLANE_ADDRESSES', 'how Services are reached', ['loopback', 'cluster-dns'], {
    fallback: 'cluster-dns',
  }),
  heartbeatStaleMs: integer(
    'AGENTPLANE_HEARTBEAT_STALE_MS',
    'how long a listener may send no heartbeat until it counts as lost, milliseconds; it sends one every ten seconds',
    { fallback: 45_000, min: 1000 },
  ),
  imageStore: optionalText('AGENTPLANE_IMAGE_STORE', 'folder of the image store; missing in a cluster'),
  podFolders: optionalText(
    'AGENTPLANE_POD_FOLDERS',
    'folder in which the process runtime keeps those of pods; missing in a cluster',
  ),
  builds: integer('AGENTPLANE_BUILDS', 'builds from git at a time', { fallback: 2, min: 1, max: 100 }),
  buildTimeoutMs: integer('AGENTPLANE_BUILD_TIMEOUT_MS', 'longest build from git, milliseconds', {
    fallback: 900_000,
    min: 1000,
  }),
  buildMemoryMb: integer('AGENTPLANE_BUILD_MEMORY_MB', 'most memory of a build from git', {
    fallback: 2048,
    min: 256,
  }),
  buildImageMegabytes: integer('AGENTPLANE_BUILD_IMAGE_MB', 'largest result of a build from git', {
    fallback: 2048,
    min: 1,
  }),
  builtImagesMegabytes: integer(
    'AGENTPLANE_BUILD_IMAGES_MB_PER_WORKSPACE',
    'most megabytes of all images that builds from git left for one workspace',
    { fallback: 51_200, min: 1 },
  ),
  buildRegistry: optionalChecked(
    'AGENTPLANE_BUILD_REGISTRY',
    'where builds from git push their images, as registry.example.com/team/agents; on one machine they go to its image store',
    requireRegistry,
  ),
  buildNamespace: text('AGENTPLANE_BUILD_NAMESPACE', 'namespace of builds that push to a registry', {
    fallback: 'agentplane-builds',
  }),
  buildPushSecret: optionalText(
    'AGENTPLANE_BUILD_PUSH_SECRET',
    'Secret of that namespace with the login of the registry, of type kubernetes.io/dockerconfigjson',
  ),
  buildPullSecret: optionalText(
    'AGENTPLANE_BUILD_PULL_SECRET',
    'Secret with which pods of built agents fetch their images, in each namespace that has such agents',
  ),
  buildRegistryInsecure: flag(
    'AGENTPLANE_BUILD_REGISTRY_INSECURE',
    'whether this registry may have no TLS, or a certificate of anybody',
    { fallback: false },
  ),
  buildRegistryCa: optionalText(
    'AGENTPLANE_BUILD_REGISTRY_CA',
    'PEM of a certificate that this registry is trusted by, beside those of the image of the builder',
  ),
  buildBase: optionalText(
    'AGENTPLANE_BUILD_BASE',
    'image that built agents are put upon; the agent image of the platform when missing',
  ),
  buildPythonBase: optionalText(
    'AGENTPLANE_BUILD_PYTHON_BASE',
    'the same for agents in Python; agent-python when missing',
  ),
  pushPeriodMs: integer(
    'AGENTPLANE_BUILD_PUSH_PERIOD_MS',
    'pause between two looks at a branch that is built on push, milliseconds; longer where a workspace follows many',
    { fallback: 60_000, min: 1000 },
  ),
  npmRegistry: optionalChecked(
    'AGENTPLANE_BUILD_NPM_REGISTRY',
    'registry of packages for builds from git, without a password; the one of npm when missing',
    requireNoPassword,
  ),
  pythonIndex: optionalChecked(
    'AGENTPLANE_BUILD_PYTHON_INDEX',
    'index of Python packages for builds from git, without a password; the one of pip when missing',
    requireNoPassword,
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
  trustedCa: certificates(
    'AGENTPLANE_TRUSTED_CA',
    'PEM of certificates that agents and export workers trust besides public ones, such as those of Postgres and object stores; programs of the platform trust the file in NODE_EXTRA_CA_CERTS',
  ),
  agentsNonRoot: flag(
    'AGENTPLANE_AGENTS_NON_ROOT',
    'whether pods of agents must not run as root, as the restricted Pod Security Standard asks for',
    { fallback: false },
  ),
  podSecurity: optionalParsed(
    'AGENTPLANE_POD_SECURITY',
    'level of the Pod Security Standards that namespaces of workspaces enforce: privileged, baseline or restricted; they stay as they are when missing',
    parsePodSecurityLevel,
  ),
  agentPlacement: optionalParsed(
    'AGENTPLANE_AGENT_PLACEMENT',
    'JSON, where pods of agents run on this cluster unless their Workspace or resource spec says it: nodeSelector, tolerations, affinity, topologySpreadConstraints, priorityClassName, runtimeClassName',
    parseAgentPlacement,
  ),
  agentMemoryLimitMb: integer(
    'AGENTPLANE_AGENT_MEMORY_LIMIT_MB',
    'most memory of agents on this cluster whose resource spec names none; no limit when 0',
    { fallback: 0, max: 1_048_576 },
  ),
  agentEgress: optionalParsed(
    'AGENTPLANE_AGENT_EGRESS',
    'JSON, egress rules of the NetworkPolicy for agents in each namespace of a workspace, which admits pods of the namespace and the port of the database besides; no such policy when missing',
    parseEgressRules,
  ),
  agentVolumes: optionalParsed(
    'AGENTPLANE_AGENT_VOLUMES',
    'kinds of volumes that agents may have beside configMap, secret, emptyDir, projected and downwardAPI, separated by commas: persistentVolumeClaim, nfs, csi; all of them when missing, none when none',
    parseAgentVolumes,
  ),
  agentDatabaseImage: optionalText(
    'AGENTPLANE_AGENT_DATABASE_IMAGE',
    'image of Postgres for deployments that ask for a server of their own by db_*; when missing, all share one',
  ),
  agentDatabaseUser: integer(
    'AGENTPLANE_AGENT_DATABASE_USER',
    'user and group that the files of such a server belong to, as its image has them',
    { fallback: 70, min: 1, max: 2_147_483_647 },
  ),
  agentDatabaseStorageClass: optionalText(
    'AGENTPLANE_AGENT_DATABASE_STORAGE_CLASS',
    'class of the volumes of such servers; the default of the cluster when missing',
  ),
  agentDatabasePolicy: flag(
    'AGENTPLANE_AGENT_DATABASE_POLICY',
    'whether a NetworkPolicy admits none to such a server but pods of its deployment and the controller',
    { fallback: true },
  ),
  imagePrefix: text('AGENTPLANE_IMAGE_PREFIX', 'put before the names of platform images', { fallback: '' }),
  imageTag: optionalText('AGENTPLANE_IMAGE_TAG', 'tag of platform images; the version when missing'),
  imagePullSecrets: list(
    'AGENTPLANE_IMAGE_PULL_SECRETS',
    'names of Secrets with keys of registries, separated by commas, in the namespaces of the platform and of workspaces',
    { fallback: [] },
  ),
  pods: optionalParsed(
    'AGENTPLANE_PODS',
    'JSON, what listeners and export workers have in common: labels, annotations, nodeSelector, tolerations, affinity, priorityClassName',
    parsePodPlacement,
  ),
  identity: text('AGENTPLANE_IDENTITY', 'name of this candidate for leadership; the pod’s name', {
    fallback: FIELD_MANAGER.controller,
  }),
  internalHost: text('AGENTPLANE_INTERNAL_HOST', 'address of health, readiness and metrics', {
    fallback: '127.0.0.1',
  }),
  internalPort: integer(
    'AGENTPLANE_INTERNAL_PORT',
    'port of health, readiness and metrics; 0 picks a free one',
    { fallback: 0, max: 65_535 },
  ),
  logLevel: choice('AGENTPLANE_LOG_LEVEL', 'what is logged', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
  exportRetries: integer('AGENTPLANE_EXPORT_RETRIES', 'retries of an export run after its first attempt', {
    fallback: DEFAULT_EXPORT_LIMITS.retries,
  }),
  exportRetryDelayMs: integer('AGENTPLANE_EXPORT_RETRY_DELAY_MS', 'pause between attempts, milliseconds', {
    fallback: DEFAULT_EXPORT_LIMITS.retryDelayMs,
  }),
  exportRunTimeoutMs: integer('AGENTPLANE_EXPORT_RUN_TIMEOUT_MS', 'longest attempt, milliseconds', {
    fallback: DEFAULT_EXPORT_LIMITS.runTimeoutMs,
    min: 1000,
  }),
  exportTimeoutMs: integer('AGENTPLANE_EXPORT_TIMEOUT_MS', 'longest export, milliseconds', {
    fallback: DEFAULT_EXPORT_LIMITS.exportTimeoutMs,
    min: 1000,
  }),
  concurrentRunsPerExport: integer('AGENTPLANE_EXPORT_CONCURRENT_RUNS', 'runs of one export at a time', {
    fallback: DEFAULT_EXPORT_LIMITS.concurrentRunsPerExport,
    min: 1,
  }),
  concurrentExportsPerWorkspace: integer(
    'AGENTPLANE_EXPORT_CONCURRENT_EXPORTS',
    'exports of one workspace at a time',
    { fallback: DEFAULT_EXPORT_LIMITS.concurrentExportsPerWorkspace, min: 1 },
  ),
  exportHistoryMs: integer(
    'AGENTPLANE_EXPORT_HISTORY_MS',
    'how long exports that have ended stay in the API server before they are moved to Postgres, milliseconds',
    { fallback: 604_800_000, min: 1000 },
  ),
  exportHistoryCount: integer(
    'AGENTPLANE_EXPORT_HISTORY_COUNT',
    'exports of a workspace that have ended and stay in the API server; the oldest beyond that are moved earlier',
    { fallback: 200, min: 1 },
  ),
  concurrentExportRuns: integer(
    'AGENTPLANE_EXPORT_ALL_RUNS',
    'runs of all exports at a time, of which one workspace leaves a share to others; 0: as many as the other limits allow',
    { fallback: 0 },
  ),
  exportRunsOfWorker: integer(
    'AGENTPLANE_EXPORT_RUNS_OF_WORKER',
    'runs of an export, with fewer than 10,000 rows together, that one worker takes in turn; 1: each has a worker of its own',
    // each has some 200 characters in a variable of the worker, which has 128 KiB at most
    { fallback: 30, min: 1, max: 200 },
  ),
  exportRunsWithinMs: integer(
    'AGENTPLANE_EXPORT_RUNS_WITHIN_MS',
    'how long a run waits for other runs of its export that are not created yet, so that one worker takes them too',
    { fallback: 5_000, max: 600_000 },
  ),
  exportServiceAccount: optionalText(
    'AGENTPLANE_EXPORT_SERVICE_ACCOUNT',
    'account of the pods of export workers, in the namespace of the platform, for the role of a cloud; `default` when missing',
  ),
  exportFileBytes: integer(
    'AGENTPLANE_EXPORT_FILE_BYTES',
    'handed on to export workers: a file ends with the row group that passes this size, bytes; 0: as they choose',
    { fallback: 0 },
  ),
  exportFileRows: integer(
    'AGENTPLANE_EXPORT_FILE_ROWS',
    'handed on to export workers: most rows of a file; 0: as they choose',
    { fallback: 0 },
  ),
  ...LAKE_FIELDS,
};

export type ControllerConfig = Config<typeof CONFIG>;

/** The bounds of exports, as this program is set. */
export function exportLimits(config: ControllerConfig): ExportLimits {
  return {
    retries: config.exportRetries,
    retryDelayMs: config.exportRetryDelayMs,
    runTimeoutMs: config.exportRunTimeoutMs,
    exportTimeoutMs: config.exportTimeoutMs,
    concurrentRunsPerExport: config.concurrentRunsPerExport,
    concurrentExportsPerWorkspace: config.concurrentExportsPerWorkspace,
    ...(config.concurrentExportRuns === 0 ? {} : { concurrentRuns: config.concurrentExportRuns }),
  };
}

/** Limits of age and number for ended exports in the API server. */
export function exportHistory({ exportHistoryMs, exportHistoryCount }: ControllerConfig): ExportHistory {
  return { keptMs: exportHistoryMs, keptExports: exportHistoryCount };
}

/** Postgres servers of deployments' own; undefined where there are none. */
export function databaseServerSettings(config: ControllerConfig): DatabaseServerSettings | undefined {
  const { agentDatabaseImage: image, agentDatabaseUser: userId, agentDatabaseStorageClass } = config;
  if (image === undefined) return undefined;
  const controllerNamespace = config.agentDatabasePolicy ? config.systemNamespace : undefined;
  return { image, userId, storageClass: agentDatabaseStorageClass, controllerNamespace };
}

/** Settings that go into the objects that this program makes. */
export function platformSettings(config: ControllerConfig): PlatformSettings {
  const { apiUrl, addresses, allowPrivateEndpoints, exportFileBytes, exportFileRows } = config;
  const { exportServiceAccount } = config;
  const { agentsNonRoot, imagePrefix, imageTag, imagePullSecrets, buildPullSecret, pods, trustedCa } = config;
  return {
    version: PLATFORM_VERSION,
    apiUrl,
    addresses,
    allowPrivateEndpoints,
    agentsNonRoot,
    imagePrefix,
    imageTag,
    imagePullSecrets,
    buildPullSecret,
    trustedCa,
    ...(pods ? { pods } : {}),
    tracing: podTracingVariables(),
    exportServiceAccount,
    lake: lakeVariables(config)?.open,
    exportFiles: {
      ...(exportFileBytes === 0 ? {} : { AGENTPLANE_EXPORT_FILE_BYTES: String(exportFileBytes) }),
      ...(exportFileRows === 0 ? {} : { AGENTPLANE_EXPORT_FILE_ROWS: String(exportFileRows) }),
    },
  };
}
