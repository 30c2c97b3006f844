import { createHash } from 'node:crypto';

/** The namespace of a workspace. */
export function workspaceNamespace(workspace: string): string {
  return `ws-${workspace}`;
}

/** Name of the Deployment, ServiceAccount, Role and RoleBinding of a listener. */
export function listenerObjectName(listener: string): string {
  return `listener-${listener}`;
}

/** Secret of a listener, from whose key it derives the tokens by which it asks pods whether they are idle. */
export function listenerKeyName(listener: string): string {
  return `${listenerObjectName(listener)}-key`;
}

/** Lease by which one program of a listener works at a time. */
export function listenerLeaseName(listener: string): string {
  return `agentplane-${listenerObjectName(listener)}`;
}

/** `DEPLOYMENT-00001`. */
export function revisionName(deployment: string, number: number): string {
  return `${deployment}-${String(number).padStart(5, '0')}`;
}

/** Secret with `LANGSMITH_API_KEY` of a deployment. */
export function platformSecretName(deployment: string): string {
  return `${deployment}-platform`;
}

/** Secret with `POSTGRES_URI` of a deployment. */
export function databaseSecretName(deployment: string): string {
  return `${deployment}-database`;
}

/** Limit for StatefulSets: their pods have a label with the name and a hash, eleven characters more. */
const MAX_STATEFUL_SET = 52;

/**
 * StatefulSet, Service, PersistentVolumeClaim and Secret of a deployment's own Postgres server. A name that is too long for
 * the first is cut, and eight hex digits of SHA-256 take the place of the rest.
 */
export function databaseServerName(deployment: string): string {
  const whole = `${deployment}-postgres`;
  if (whole.length <= MAX_STATEFUL_SET) return whole;
  const end = `-${createHash('sha256').update(deployment).digest('hex').slice(0, 8)}-postgres`;
  return `${deployment.slice(0, MAX_STATEFUL_SET - end.length)}${end}`;
}

/** The Secrets that the platform makes for a deployment. */
export function deploymentSecretNames(deployment: string): readonly string[] {
  return [platformSecretName, databaseSecretName, databaseServerName].map((nameOf) => nameOf(deployment));
}

/** Immutable Secret with the user's variables of a revision. */
export function revisionEnvSecretName(revision: string): string {
  return `${revision}-env`;
}

/** Limit for names that are values of labels as well. */
const MAX_LABEL = 63;

/**
 * Job, Secret and ConfigMap with the log of a revision's build from git. A Job's name is a label of its pods: one that
 * is too long for that is cut, and eight hex digits of SHA-256 take the place of the rest.
 */
export function revisionBuildName(revision: string): string {
  const whole = `${revision}-build`;
  if (whole.length <= MAX_LABEL) return whole;
  const end = `-${createHash('sha256').update(revision).digest('hex').slice(0, 8)}-build`;
  return `${revision.slice(0, MAX_LABEL - end.length)}${end}`;
}

/** ConfigMap with the last output of a revision that failed. */
export function revisionOutputName(revision: string): string {
  return `${revision}-output`;
}

/** `EXPORT-YYYYMMDD`: the run of one UTC day, given any instant of it. */
export function exportRunName(exportName: string, day: Date): string {
  return `${exportName}-${day.toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** Job and Secret of one attempt of a run, in the system namespace. */
export function exportJobName(runUid: string, attempt: number): string {
  return `bxr-${runUid.replaceAll('-', '').slice(0, 12)}-${attempt}`;
}

/** Name of the Listener and of the BulkExportDestination that exist from the start. */
export const DEFAULT_LISTENER = 'default';
