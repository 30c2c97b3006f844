import {
  type Deployment,
  type DeploymentStatus,
  findCondition,
  type ReplicaSet,
  type WorkloadCondition,
} from '#lib/resources';
import { type ConditionFields, timeText, withoutCondition } from '../workload/workload-condition.js';
import { isComplete } from './decide-rollout.js';
import { type DeploymentSets, rollingBounds } from './plan-scaling.js';

/** Result of a pass, for the Progressing condition. */
export type RolloutNews =
  | { readonly kind: 'created'; readonly setName: string }
  | { readonly kind: 'create-failed'; readonly message: string }
  /** The set's name belongs to another template: the next pass hashes with another number. */
  | { readonly kind: 'name-taken'; readonly message: string }
  | undefined;

type Conditions = readonly WorkloadCondition[];

/** The status of a deployment with these sets; conditions, reasons and messages are Kubernetes' own. */
export function summarizeDeployment(
  deployment: Deployment,
  sets: DeploymentSets,
  news: RolloutNews,
  now: Date,
): DeploymentStatus {
  const counts = countPods(sets);
  const collisionCount = (deployment.status?.collisionCount ?? 0) + (news?.kind === 'name-taken' ? 1 : 0);
  const base: DeploymentStatus = {
    ...(deployment.metadata.generation === undefined
      ? {}
      : { observedGeneration: deployment.metadata.generation }),
    ...(collisionCount === 0 ? {} : { collisionCount }),
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)),
  };
  const at = timeText(now);
  let conditions = deployment.status?.conditions ?? [];
  conditions = set(conditions, availability(deployment, counts.availableReplicas), at);
  if (deployment.metadata.deletionTimestamp === undefined)
    conditions = progress(deployment, base, conditions, { sets, news, now });
  const failure = [sets.current, ...sets.old].flatMap(
    (one) => findCondition(one?.status?.conditions, 'ReplicaFailure') ?? [],
  );
  conditions = failure[0]
    ? set(conditions, { ...fieldsOf(failure[0]), type: 'ReplicaFailure' }, at)
    : withoutCondition(conditions, 'ReplicaFailure');
  return { ...base, conditions };
}

function countPods({ current, old }: DeploymentSets): {
  readonly replicas: number;
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
  readonly unavailableReplicas: number;
} {
  const all = current ? [current, ...old] : old;
  const sum = (of: (set: ReplicaSet) => number | undefined): number =>
    all.reduce((total, one) => total + (of(one) ?? 0), 0);
  const availableReplicas = sum(({ status }) => status?.availableReplicas);
  return {
    replicas: sum(({ status }) => status?.replicas),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum(({ status }) => status?.readyReplicas),
    availableReplicas,
    unavailableReplicas: Math.max(0, sum(({ spec }) => spec.replicas ?? 1) - availableReplicas),
  };
}

function availability(deployment: Deployment, available: number): ConditionFields {
  const isAvailable = available >= (deployment.spec.replicas ?? 1) - rollingBounds(deployment).maxUnavailable;
  return {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: isAvailable
      ? 'Deployment has minimum availability.'
      : 'Deployment does not have minimum availability.',
  };
}

interface ProgressView {
  readonly sets: DeploymentSets;
  readonly news: RolloutNews;
  readonly now: Date;
}

function progress(
  deployment: Deployment,
  status: DeploymentStatus,
  conditions: Conditions,
  { sets, news, now }: ProgressView,
): Conditions {
  if (!hasDeadline(deployment)) return withoutCondition(conditions, 'Progressing');
  const at = timeText(now);
  const before = findCondition(conditions, 'Progressing');
  const paused = pausedCondition(deployment, before);
  if (paused) return set(conditions, paused, at);
  if (news?.kind === 'created')
    return set(
      conditions,
      progressing('True', 'NewReplicaSetCreated', `Created new replica set "${news.setName}"`),
      at,
    );
  if (news?.kind === 'create-failed')
    return set(conditions, progressing('False', 'FailedCreate', news.message), at);

  const name = sets.current
    ? `ReplicaSet "${sets.current.metadata.name}"`
    : `Deployment "${deployment.metadata.name}"`;
  const wasComplete =
    status.replicas === status.updatedReplicas && before?.reason === 'NewReplicaSetAvailable';
  if (deployment.spec.paused || wasComplete) return conditions;
  if (isComplete(deployment, status))
    return set(
      conditions,
      progressing('True', 'NewReplicaSetAvailable', `${name} has successfully progressed.`),
      at,
    );
  if (hasMoved(deployment.status, status))
    return touch(conditions, progressing('True', 'ReplicaSetUpdated', `${name} is progressing.`), at);
  if (isOverdue(deployment, before, now))
    return set(
      conditions,
      progressing('False', 'ProgressDeadlineExceeded', `${name} has timed out progressing.`),
      at,
    );
  if (!before && sets.current)
    return set(
      conditions,
      progressing('True', 'FoundNewReplicaSet', `Found new replica set "${sets.current.metadata.name}"`),
      at,
    );
  return conditions;
}

function pausedCondition(
  deployment: Deployment,
  before: WorkloadCondition | undefined,
): ConditionFields | undefined {
  if (before?.reason === 'ProgressDeadlineExceeded') return undefined;
  const isMarked = before?.reason === 'DeploymentPaused';
  if (deployment.spec.paused && !isMarked)
    return progressing('Unknown', 'DeploymentPaused', 'Deployment is paused');
  if (!deployment.spec.paused && isMarked)
    return progressing('Unknown', 'DeploymentResumed', 'Deployment is resumed');
  return undefined;
}

/**
 * True with more pods of the new template, fewer of the old, or more of any ready or available than in the
 * last status.
 */
function hasMoved(before: DeploymentStatus | undefined, after: DeploymentStatus): boolean {
  const of = (status: DeploymentStatus | undefined, name: keyof typeof PROGRESS_COUNTS): number =>
    status?.[name] ?? 0;
  const old = (status: DeploymentStatus | undefined): number =>
    of(status, 'replicas') - of(status, 'updatedReplicas');
  return (
    of(after, 'updatedReplicas') > of(before, 'updatedReplicas') ||
    old(after) < old(before) ||
    of(after, 'readyReplicas') > of(before, 'readyReplicas') ||
    of(after, 'availableReplicas') > of(before, 'availableReplicas')
  );
}

const PROGRESS_COUNTS = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };

/** Kubernetes takes the largest 32-bit number for no deadline at all. */
function hasDeadline({ spec }: Deployment): boolean {
  return (spec.progressDeadlineSeconds ?? 600) < 2_147_483_647;
}

/** Time at which a rollout without progress is checked again, in milliseconds since the epoch. */
export function progressDeadlineMs(deployment: Deployment, status: DeploymentStatus): number | undefined {
  const condition = findCondition(status.conditions, 'Progressing');
  if (!hasDeadline(deployment) || !condition || isComplete(deployment, status)) return undefined;
  if (condition.reason === 'NewReplicaSetAvailable' || condition.reason === 'ProgressDeadlineExceeded')
    return undefined;
  return Date.parse(condition.lastUpdateTime ?? '') + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000;
}

function isOverdue(deployment: Deployment, before: WorkloadCondition | undefined, now: Date): boolean {
  if (!before || before.reason === 'NewReplicaSetAvailable') return false;
  if (before.reason === 'ProgressDeadlineExceeded') return true;
  const deadlineMs =
    Date.parse(before.lastUpdateTime ?? '') + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000;
  return deadlineMs < now.getTime();
}

function progressing(status: 'True' | 'False' | 'Unknown', reason: string, message: string): ConditionFields {
  return { type: 'Progressing', status, reason, message };
}

function fieldsOf({ type, status, reason = '', message = '' }: WorkloadCondition): ConditionFields {
  return { type, status, reason, message };
}

/** Unlike elsewhere a new message alone changes nothing: Kubernetes' deployment controller compares status and reason. */
function set(conditions: Conditions, next: ConditionFields, at: string): Conditions {
  const before = findCondition(conditions, next.type);
  return before?.status === next.status && before.reason === next.reason
    ? conditions
    : touch(conditions, next, at);
}

/** Sets it with the present time of update, since the deadline counts from there. */
function touch(conditions: Conditions, next: ConditionFields, at: string): Conditions {
  const before = findCondition(conditions, next.type);
  const lastTransitionTime = before?.status === next.status ? (before.lastTransitionTime ?? at) : at;
  return [
    ...conditions.filter(({ type }) => type !== next.type),
    { ...next, lastUpdateTime: at, lastTransitionTime },
  ];
}
