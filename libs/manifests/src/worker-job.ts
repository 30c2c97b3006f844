import { type EnvironmentVariable, type Job, LABEL, type Secret } from '#lib/resources';
import { CA_KEY, trustedCaParts } from './deployment-secrets.js';
import { CONTAINER_SECURITY, platformLabels, platformPodSecurity } from './object-labels.js';
import { platformImage, type PlatformSettings } from './platform-settings.js';
import { placementOf } from './pod-placement.js';
import { METRICS_ANNOTATIONS, METRICS_CONTAINER_PORT, telemetryEnvironment } from './pod-resources.js';

/** Credentials of every worker: its Secret is in the system namespace, out of reach of agents' pods. */
export interface WorkerCredentials {
  /** URI of the trace store. */
  readonly databaseUri: string;
  /** Keys of the platform's own store, by variable; none where those of the environment serve. */
  readonly lakeKeys?: Readonly<Record<string, string>>;
  /** Certificates (PEM) that the worker trusts besides public ones. */
  readonly trustedCa?: string | undefined;
}

/** Metadata that the Job and the Secret of a worker have in common. */
interface WorkerMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Values of a worker's Secret, base64 as they come. */
type SecretData = NonNullable<Secret['data']>;

/** A Job of the export worker's program. */
export interface WorkerJob {
  readonly metadata: WorkerMetadata;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Longest time of the worker in milliseconds. */
  readonly timeoutMs: number;
  /** Variables beside those of every worker. */
  readonly env: readonly EnvironmentVariable[];
  /** Variables whose values come from the Secret: variable → key. */
  readonly secretEnv: Readonly<Record<string, string>>;
}

const DATABASE_URI = 'database_uri';
/** Keys of the platform's own store have the names of their variables. */
const LAKE_KEYS = ['AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID', 'AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY'];

/**
 * Size from which on glibc gives freed memory back to the system. By default it raises the limit with each
 * larger block that is freed, and a worker keeps a tenth more memory (docs/benchmarks.md). Other C libraries
 * do not read it.
 */
const MALLOC_BOUND: EnvironmentVariable = { name: 'MALLOC_MMAP_THRESHOLD_', value: String(1 << 20) };

/** The credentials of one worker. Immutable: it ends with what it began with. */
export function buildWorkerSecret(
  metadata: WorkerMetadata,
  { databaseUri, lakeKeys = {}, trustedCa }: WorkerCredentials,
  more: SecretData = {},
): Secret {
  const given = { [DATABASE_URI]: databaseUri, ...(trustedCa === undefined ? {} : { [CA_KEY]: trustedCa }) };
  const encoded = Object.entries({ ...given, ...lakeKeys }).map(([key, value]) => [
    key,
    Buffer.from(value, 'utf8').toString('base64'),
  ]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    immutable: true,
    data: { ...(Object.fromEntries(encoded) as SecretData), ...more },
  };
}

/** One Job for each try, without a back-off of its own: when another follows is the controller's decision. */
export function buildWorkerJob(job: WorkerJob, settings: PlatformSettings): Job {
  const { metadata, annotations = {} } = job;
  const trusted = settings.trustedCa === undefined ? undefined : trustedCaParts(metadata.name);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(job.timeoutMs / 1000),
      template: {
        metadata: {
          labels: { ...settings.pods?.labels, ...metadata.labels },
          annotations: {
            ...METRICS_ANNOTATIONS,
            ...settings.pods?.annotations,
            // a reader of a run's log finds its worker by it
            ...annotations,
          },
        },
        spec: {
          restartPolicy: 'Never',
          ...accountOf(settings),
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: platformPodSecurity(settings),
          ...placementOf(settings),
          terminationGracePeriodSeconds: 30,
          containers: [
            {
              name: 'export-worker',
              image: platformImage('export-worker', settings),
              env: [...environmentOf(job, settings), ...(trusted?.env ?? [])],
              ports: [METRICS_CONTAINER_PORT],
              resources: { requests: { cpu: '250m', memory: '256Mi' } },
              securityContext: CONTAINER_SECURITY,
              terminationMessagePolicy: 'File',
              ...(trusted ? { volumeMounts: trusted.volumeMounts } : {}),
            },
          ],
          ...(trusted ? { volumes: trusted.volumes } : {}),
        },
      },
    },
  };
}

/** The role of a cloud is bound to an account; a pod that names one which does not exist is not created. */
function accountOf({ exportServiceAccount }: PlatformSettings): { readonly serviceAccountName?: string } {
  return exportServiceAccount === undefined ? {} : { serviceAccountName: exportServiceAccount };
}

/** Payloads of sealed days are read from the platform's own store, for exports as for sealing. */
function environmentOf(
  { metadata: { name }, env, secretEnv }: WorkerJob,
  settings: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { lake } = settings;
  const fromSecret = {
    AGENTPLANE_DATABASE_URI: DATABASE_URI,
    ...secretEnv,
    ...(lake === undefined ? {} : Object.fromEntries(LAKE_KEYS.map((key) => [key, key]))),
  };
  return [
    ...env,
    MALLOC_BOUND,
    ...Object.entries(lake ?? {}).map(([variable, value]) => ({ name: variable, value })),
    ...telemetryEnvironment(settings),
    ...Object.entries(fromSecret).map(([variable, key]) => ({
      name: variable,
      valueFrom: { secretKeyRef: { name, key, optional: key !== DATABASE_URI } },
    })),
  ];
}

/** Longest time of a worker that seals: it begins no day after ten minutes, and a day may be large. */
const SEAL_TIMEOUT_MS = 14_400_000;

/** Name of the Job and the Secret of the worker that seals: one name, so that there is one at a time. */
export const SEAL_JOB = 'lake-seal';

function sealMetadata(namespace: string): WorkerMetadata {
  return { name: SEAL_JOB, namespace, labels: platformLabels('export-worker', { [LABEL.sealing]: 'true' }) };
}

/** The Secret of the worker that seals days. */
export function buildSealSecret(systemNamespace: string, credentials: WorkerCredentials): Secret {
  return buildWorkerSecret(sealMetadata(systemNamespace), credentials);
}

/** The Job of the worker that seals days. */
export function buildSealJob(systemNamespace: string, settings: PlatformSettings): Job {
  return buildWorkerJob(
    {
      metadata: sealMetadata(systemNamespace),
      timeoutMs: SEAL_TIMEOUT_MS,
      env: [{ name: 'AGENTPLANE_SEAL', value: 'true' }],
      secretEnv: {},
    },
    settings,
  );
}
