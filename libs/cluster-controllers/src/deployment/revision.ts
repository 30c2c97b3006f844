import type { Deployment, ReplicaSet } from '#lib/resources';

export const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY_ANNOTATION = 'deployment.kubernetes.io/revision-history';
export const DESIRED_ANNOTATION = 'deployment.kubernetes.io/desired-replicas';
export const MAX_ANNOTATION = 'deployment.kubernetes.io/max-replicas';

/** Not handed on from a deployment to its replica sets. */
const OWN_ANNOTATIONS: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION_ANNOTATION,
  REVISION_HISTORY_ANNOTATION,
  DESIRED_ANNOTATION,
  MAX_ANNOTATION,
  'deprecated.deployment.rollback.to',
]);

/** Number of a replica set's revision; 0 without one. */
export function revisionOf(object: ReplicaSet | Deployment): number {
  const number = Number(object.metadata.annotations?.[REVISION_ANNOTATION] ?? 0);
  return Number.isSafeInteger(number) ? number : 0;
}

/** The highest revision among these, 0 for none. */
export function latestRevision(sets: readonly ReplicaSet[]): number {
  return Math.max(0, ...sets.map(revisionOf));
}

/**
 * The annotations of a deployment's current replica set: those of the deployment, the revision, the numbers for
 * proportional scaling. A set that becomes current again (a rollback) remembers the revisions it was before.
 */
export function currentSetAnnotations(
  deployment: Deployment,
  existing: ReplicaSet | undefined,
  revision: number,
  maxReplicas: number,
): Readonly<Record<string, string>> {
  const annotations: Record<string, string> = { ...existing?.metadata.annotations };
  for (const [name, value] of Object.entries(deployment.metadata.annotations ?? {}))
    if (!OWN_ANNOTATIONS.has(name)) annotations[name] = value;
  const before = existing ? revisionOf(existing) : 0;
  if (before < revision) {
    annotations[REVISION_ANNOTATION] = String(revision);
    if (before > 0) {
      const history = annotations[REVISION_HISTORY_ANNOTATION];
      annotations[REVISION_HISTORY_ANNOTATION] = history ? `${history},${before}` : String(before);
    }
  }
  annotations[DESIRED_ANNOTATION] = String(deployment.spec.replicas ?? 1);
  annotations[MAX_ANNOTATION] = String(maxReplicas);
  return annotations;
}
