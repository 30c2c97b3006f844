import type { Deployment, ReplicaSet } from '#lib/resources';

/** Maximum number of pods above and below the wanted one while a deployment rolls. */
export interface RollingBounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Numbers as they are; percentages of the replicas, surge rounded up, unavailable down; never both zero. */
export function rollingBounds(deployment: Deployment): RollingBounds {
  const { strategy } = deployment.spec;
  const replicas = deployment.spec.replicas ?? 1;
  if (strategy?.type === 'Recreate') return { maxSurge: 0, maxUnavailable: replicas };
  const maxSurge = share(strategy?.rollingUpdate?.maxSurge ?? '25%', replicas, Math.ceil);
  const maxUnavailable = share(strategy?.rollingUpdate?.maxUnavailable ?? '25%', replicas, Math.floor);
  if (maxSurge === 0 && maxUnavailable === 0) return { maxSurge: 0, maxUnavailable: 1 };
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

function share(value: number | string, replicas: number, round: (n: number) => number): number {
  if (typeof value === 'number') return value;
  const percent = Number(value.replace(/%$/, ''));
  return Number.isFinite(percent) ? round((percent * replicas) / 100) : 0;
}

export const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY_ANNOTATION = 'deployment.kubernetes.io/revision-history';
const DESIRED_ANNOTATION = 'deployment.kubernetes.io/desired-replicas';
const MAX_ANNOTATION = 'deployment.kubernetes.io/max-replicas';

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

/** Replica sets of a deployment. `current` runs the present template. */
export interface DeploymentSets {
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

/** A replica set and the number it is to be scaled to. */
export interface Scaling {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

const wanted = (set: ReplicaSet): number => set.spec.replicas ?? 1;
const available = (set: ReplicaSet): number => set.status?.availableReplicas ?? 0;
const sum = (sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number): number =>
  sets.reduce((total, set) => total + of(set), 0);

/**
 * One step of a rolling update: first the current set grows as far as the surge allows; when it does not, old ones
 * shrink, sick pods first, as far as the wanted availability allows. An empty plan: wait for pods or be complete.
 */
export function planRollingUpdate(deployment: Deployment, sets: DeploymentSets): readonly Scaling[] {
  if (!sets.current) return [];
  const grow = growCurrent(deployment, sets.current, sets.old);
  if (grow !== wanted(sets.current)) return [{ set: sets.current, replicas: grow }];
  return shrinkOld(deployment, sets.current, sets.old);
}

/** Size of the current set when the others stay as they are. */
export function growCurrent(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): number {
  const replicas = deployment.spec.replicas ?? 1;
  if (deployment.spec.strategy?.type === 'Recreate') return replicas;
  // a set larger than wanted shrinks at once
  if (wanted(current) >= replicas) return replicas;
  const room = replicas + rollingBounds(deployment).maxSurge - sum(old, wanted) - wanted(current);
  return wanted(current) + Math.max(0, Math.min(room, replicas - wanted(current)));
}

function shrinkOld(
  deployment: Deployment,
  current: ReplicaSet,
  old: readonly ReplicaSet[],
): readonly Scaling[] {
  const oldPods = sum(old, wanted);
  if (oldPods === 0) return [];
  const minAvailable = (deployment.spec.replicas ?? 1) - rollingBounds(deployment).maxUnavailable;
  const currentUnavailable = wanted(current) - available(current);
  let removable = oldPods + wanted(current) - minAvailable - currentUnavailable;
  if (removable <= 0) return [];
  const sizes = new Map(old.map((set) => [set, wanted(set)]));
  const oldestFirst = old.toSorted(byAge);
  // pods that are not available cost no availability
  for (const set of oldestFirst) {
    const sick = Math.min(removable, Math.max(0, wanted(set) - available(set)));
    sizes.set(set, wanted(set) - sick);
    removable -= sick;
  }
  let spare = sum([...old, current], available) - minAvailable;
  for (const set of oldestFirst) {
    const size = sizes.get(set) ?? 0;
    const step = Math.max(0, Math.min(size, spare));
    sizes.set(set, size - step);
    spare -= step;
  }
  return changed(sizes);
}

/** All old sets to nothing. */
export function planShutdown(old: readonly ReplicaSet[]): readonly Scaling[] {
  return old.filter((set) => wanted(set) > 0).map((set) => ({ set, replicas: 0 }));
}

/**
 * Follows a change of `spec.replicas` alone (also while paused). One active set gets the number; several get their
 * share, the largest the rest, so that a rollout half way stays half way. Names every active set, also those whose
 * size stays: their annotations must say that they have been scaled.
 */
export function planProportional(deployment: Deployment, sets: DeploymentSets): readonly Scaling[] {
  const all = sets.current ? [sets.current, ...sets.old] : sets.old;
  const active = all.filter((set) => wanted(set) > 0);
  const replicas = deployment.spec.replicas ?? 1;
  if (active.length <= 1) {
    const [only] =
      active.length === 1 ? active : sets.current ? [sets.current] : sets.old.toSorted(byAge).slice(-1);
    return only ? [{ set: only, replicas }] : [];
  }
  const { current } = sets;
  if (current && wanted(current) === replicas && available(current) === replicas)
    return [{ set: current, replicas }, ...planShutdown(sets.old)];
  const isRolling = deployment.spec.strategy?.type !== 'Recreate';
  const allowed = replicas > 0 ? replicas + rollingBounds(deployment).maxSurge : 0;
  const toAdd = isRolling ? allowed - sum(active, wanted) : 0;
  // growing begins with the largest and, among equals, the newest; shrinking with the largest and the oldest
  const order = active.toSorted((a, b) => wanted(b) - wanted(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)));
  let rest = toAdd;
  const steps = order.map((set) => {
    const share = shareOf(set, deployment, allowed);
    const step =
      toAdd > 0 ? Math.max(0, Math.min(share, rest)) : toAdd < 0 ? Math.min(0, Math.max(share, rest)) : 0;
    rest -= step;
    return step;
  });
  return order.map((set, at) => ({
    set,
    replicas: Math.max(0, wanted(set) + (steps[at] ?? 0) + (at === 0 ? rest : 0)),
  }));
}

/** True when `spec.replicas` changed since the sets were last scaled. */
export function isScalingEvent(deployment: Deployment, sets: DeploymentSets): boolean {
  const all = sets.current ? [sets.current, ...sets.old] : sets.old;
  return all.some((set) => {
    const desired = set.metadata.annotations?.[DESIRED_ANNOTATION];
    return wanted(set) > 0 && desired !== undefined && Number(desired) !== (deployment.spec.replicas ?? 1);
  });
}

function shareOf(set: ReplicaSet, deployment: Deployment, allowed: number): number {
  const whole =
    Number(set.metadata.annotations?.[MAX_ANNOTATION]) ||
    deployment.status?.replicas ||
    deployment.spec.replicas ||
    1;
  return Math.round((wanted(set) * allowed) / whole) - wanted(set);
}

function changed(sizes: ReadonlyMap<ReplicaSet, number>): readonly Scaling[] {
  return [...sizes]
    .filter(([set, replicas]) => wanted(set) !== replicas)
    .map(([set, replicas]) => ({ set, replicas }));
}

/** Oldest first. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const [x, y] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return x === y ? a.metadata.name.localeCompare(b.metadata.name) : x < y ? -1 : 1;
}
