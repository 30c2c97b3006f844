/** The namespace of a workspace. */
export function workspaceNamespace(workspace: string): string {
  return `ws-${workspace}`;
}

/** Name of the Deployment, ServiceAccount, Role and RoleBinding of a listener. */
export function listenerObjectName(listener: string): string {
  return `listener-${listener}`;
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

/** Immutable Secret with the user's variables of a revision. */
export function revisionEnvSecretName(revision: string): string {
  return `${revision}-env`;
}

/** Job, Secret and ConfigMap with the log of a revision's build from git. */
export function revisionBuildName(revision: string): string {
  return `${revision}-build`;
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
