import { followingRun, takeForMs } from '#lib/export-plan';
import {
  ANNOTATION,
  type BulkExportRun,
  type EnvironmentVariable,
  exportJobName,
  type Job,
  LABEL,
  type Secret,
} from '#lib/resources';
import { CONTAINER_SECURITY, platformLabels, platformPodSecurity } from './object-labels.js';
import { platformImage, type PlatformSettings } from './platform-settings.js';
import { placementOf } from './pod-placement.js';
import { CA_KEY, trustedCaParts } from './deployment-secrets.js';
import { METRICS_ANNOTATIONS, METRICS_CONTAINER_PORT, telemetryEnvironment } from './pod-resources.js';

/** Content of an attempt's Secret, which is in the system namespace, out of reach of agents' pods. */
export interface ExportCredentials {
  /** URI of the trace store. */
  readonly databaseUri: string;
  /** Base64 values of the destination's Secret, with its own key names; none for the environment's credentials. */
  readonly store: Readonly<Record<string, string>>;
  /** Certificates (PEM) that the worker trusts besides public ones. */
  readonly trustedCa?: string | undefined;
}

export interface ExportAttempt {
  readonly run: BulkExportRun;
  /** 1 is the first. */
  readonly number: number;
  readonly systemNamespace: string;
  /** Longest time of the attempt in milliseconds. */
  readonly timeoutMs: number;
  /** Runs of the same export that its worker takes one after the other afterwards, each as attempt 1. */
  readonly following?: readonly BulkExportRun[];
  /** The span that the attempt belongs to (W3C Trace Context); undefined when nothing is traced. */
  readonly traceParent?: string | undefined;
}

/** Variables of the worker whose values come from the attempt's Secret: variable → key. */
const SECRET_VARIABLES: Readonly<Record<string, string>> = {
  AGENTPLANE_DATABASE_URI: 'database_uri',
  AGENTPLANE_STORE_ACCESS_KEY_ID: 'access_key_id',
  AGENTPLANE_STORE_SECRET_ACCESS_KEY: 'secret_access_key',
  AGENTPLANE_STORE_SESSION_TOKEN: 'session_token',
};

const STORE_KEYS = ['access_key_id', 'secret_access_key', 'session_token'] as const;

/** The credentials of one attempt. Immutable: an attempt ends with what it began with. */
export function buildExportSecret(attempt: ExportAttempt, credentials: ExportCredentials): Secret {
  const store = STORE_KEYS.flatMap((key) => {
    const value = credentials.store[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(attempt),
    type: 'Opaque',
    immutable: true,
    data: {
      database_uri: Buffer.from(credentials.databaseUri, 'utf8').toString('base64'),
      ...(credentials.trustedCa === undefined
        ? {}
        : { [CA_KEY]: Buffer.from(credentials.trustedCa, 'utf8').toString('base64') }),
      ...Object.fromEntries(store),
    },
  };
}

/** One Job for each attempt, without a back-off of its own: the fixed delay between attempts is the controller's. */
export function buildExportJob(attempt: ExportAttempt, settings: PlatformSettings): Job {
  const metadata = metadataOf(attempt);
  const trusted = settings.trustedCa === undefined ? undefined : trustedCaParts(metadata.name);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { ...metadata, ...followingNote(attempt) },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(attempt.timeoutMs / 1000),
      template: {
        metadata: {
          labels: { ...settings.pods?.labels, ...metadata.labels },
          annotations: {
            ...METRICS_ANNOTATIONS,
            ...settings.pods?.annotations,
            // a reader of a run's log finds its worker by it
            ...followingNote(attempt).annotations,
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
              env: [...workerEnvironment(attempt, metadata.name, settings), ...(trusted?.env ?? [])],
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

/**
 * Other runs that the Job concerns besides the one it is named after: it exists, or does not, for all of them
 * at one moment.
 */
function followingNote({ following = [] }: ExportAttempt): Pick<Job['metadata'], 'annotations'> {
  if (following.length === 0) return {};
  const runs = following.map(({ metadata: { name, uid = '' } }) => ({ name, uid }));
  return { annotations: { [ANNOTATION.followingRuns]: JSON.stringify(runs) } };
}

function followingEnvironment({ following = [], timeoutMs }: ExportAttempt): readonly EnvironmentVariable[] {
  if (following.length === 0) return [];
  return [
    { name: 'AGENTPLANE_EXPORT_FOLLOWING', value: JSON.stringify(following.map(followingRun)) },
    { name: 'AGENTPLANE_EXPORT_TAKE_FOR_MS', value: String(takeForMs(timeoutMs)) },
  ];
}

/**
 * Size from which on glibc gives freed memory back to the system. By default it raises the limit with each
 * larger block that is freed, and a worker keeps a tenth more memory (docs/benchmarks.md). Other C libraries
 * do not read it.
 */
const MALLOC_BOUND: EnvironmentVariable = { name: 'MALLOC_MMAP_THRESHOLD_', value: String(1 << 20) };

function workerEnvironment(
  attempt: ExportAttempt,
  secretName: string,
  settings: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { run, number } = attempt;
  const exportUid = run.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
  const isOfEnvironment = run.spec.destination.credentialsSecretName === undefined;
  return [
    { name: 'AGENTPLANE_EXPORT_RUN_UID', value: run.metadata.uid ?? '' },
    { name: 'AGENTPLANE_EXPORT_ATTEMPT', value: String(number) },
    ...(exportUid === undefined ? [] : [{ name: 'AGENTPLANE_EXPORT_UID', value: exportUid }]),
    // no secrets in it: credentials are named in the spec and stored in the Secret
    { name: 'AGENTPLANE_EXPORT_SPEC', value: JSON.stringify(run.spec) },
    ...followingEnvironment(attempt),
    MALLOC_BOUND,
    { name: 'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS', value: String(settings.allowPrivateEndpoints ?? false) },
    // never where a Secret was named: a Secret without keys must not select the platform's own credentials
    { name: 'AGENTPLANE_STORE_ENVIRONMENT_CREDENTIALS', value: String(isOfEnvironment) },
    ...Object.entries(settings.exportFiles ?? {}).map(([name, value]) => ({ name, value })),
    ...telemetryEnvironment(settings),
    ...(attempt.traceParent === undefined ? [] : [{ name: 'TRACEPARENT', value: attempt.traceParent }]),
    ...Object.entries(SECRET_VARIABLES).map(([name, key]) => ({
      name,
      valueFrom: { secretKeyRef: { name: secretName, key, optional: key !== 'database_uri' } },
    })),
  ];
}

function metadataOf({ run, number, systemNamespace }: ExportAttempt): {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
} {
  return {
    name: exportJobName(run.metadata.uid ?? '', number),
    namespace: systemNamespace,
    labels: platformLabels('export-worker', {
      [LABEL.exportRun]: run.metadata.name,
      [LABEL.exportNamespace]: run.metadata.namespace ?? '',
      [LABEL.export]: run.spec.exportName,
      [LABEL.attempt]: String(number),
    }),
  };
}
