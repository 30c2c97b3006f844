import { exportUidOf, followingRun, takeForMs } from '#lib/export-plan';
import {
  ANNOTATION,
  type BulkExportRun,
  type EnvironmentVariable,
  exportJobName,
  type Job,
  LABEL,
  type Secret,
} from '#lib/resources';
import { platformLabels } from './object-labels.js';
import type { PlatformSettings } from './platform-settings.js';
import { buildWorkerJob, buildWorkerSecret, type WorkerCredentials } from './worker-job.js';

/** Content of an attempt's Secret. */
export interface ExportCredentials extends WorkerCredentials {
  /** Base64 values of the destination's Secret, with its own key names; none for the environment's credentials. */
  readonly store: Readonly<Record<string, string>>;
}

export interface ExportAttempt {
  readonly run: BulkExportRun;
  /** 1 is the first. */
  readonly number: number;
  readonly systemNamespace: string;
  /** Longest time of the attempt in milliseconds. */
  readonly timeoutMs: number;
  /** Runs with the same destination that its worker takes one after the other afterwards, each as attempt 1. */
  readonly following?: readonly BulkExportRun[];
  /** The span that the attempt belongs to (W3C Trace Context); undefined when nothing is traced. */
  readonly traceParent?: string | undefined;
}

/** Variables of the worker whose values come from the attempt's Secret: variable → key. */
const SECRET_VARIABLES: Readonly<Record<string, string>> = {
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
  return buildWorkerSecret(metadataOf(attempt), credentials, Object.fromEntries(store));
}

/** One Job for each attempt: the fixed delay between attempts is the controller's. */
export function buildExportJob(attempt: ExportAttempt, settings: PlatformSettings): Job {
  return buildWorkerJob(
    {
      metadata: metadataOf(attempt),
      ...followingNote(attempt),
      timeoutMs: attempt.timeoutMs,
      env: attemptEnvironment(attempt, settings),
      secretEnv: SECRET_VARIABLES,
    },
    settings,
  );
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

function followingEnvironment({
  run,
  following = [],
  timeoutMs,
}: ExportAttempt): readonly EnvironmentVariable[] {
  if (following.length === 0) return [];
  const facts = following.map((one) => followingRun(run, one));
  return [
    { name: 'AGENTPLANE_EXPORT_FOLLOWING', value: JSON.stringify(facts) },
    { name: 'AGENTPLANE_EXPORT_TAKE_FOR_MS', value: String(takeForMs(timeoutMs)) },
  ];
}

function attemptEnvironment(
  attempt: ExportAttempt,
  settings: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { run, number } = attempt;
  const exportUid = exportUidOf(run);
  const isOfEnvironment = run.spec.destination.credentialsSecretName === undefined;
  return [
    { name: 'AGENTPLANE_EXPORT_RUN_UID', value: run.metadata.uid ?? '' },
    { name: 'AGENTPLANE_EXPORT_ATTEMPT', value: String(number) },
    ...(exportUid === undefined ? [] : [{ name: 'AGENTPLANE_EXPORT_UID', value: exportUid }]),
    // no secrets in it: credentials are named in the spec and stored in the Secret
    { name: 'AGENTPLANE_EXPORT_SPEC', value: JSON.stringify(run.spec) },
    ...followingEnvironment(attempt),
    { name: 'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS', value: String(settings.allowPrivateEndpoints ?? false) },
    // never where a Secret was named: a Secret without keys must not select the platform's own credentials
    { name: 'AGENTPLANE_STORE_ENVIRONMENT_CREDENTIALS', value: String(isOfEnvironment) },
    ...Object.entries(settings.exportFiles ?? {}).map(([name, value]) => ({ name, value })),
    ...(attempt.traceParent === undefined ? [] : [{ name: 'TRACEPARENT', value: attempt.traceParent }]),
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
