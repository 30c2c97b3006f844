import type { Pod, ReplicaSet, ReplicaSetStatus } from '#lib/resources';
import { isPodActive, isPodAvailable, isPodReady } from '../workload/pod-state.js';
import { conditionOf, withCondition, withoutCondition } from '../workload/workload-condition.js';

/** Failure of making or deleting pods. */
export interface ReplicaFailure {
  readonly reason: 'FailedCreate' | 'FailedDelete';
  readonly message: string;
}

/** The status that a replica set with these pods has. Counts that are zero are left out, as the API server leaves them out. */
export function summarizeReplicaSet(
  set: ReplicaSet,
  pods: readonly Pod[],
  failure: ReplicaFailure | undefined,
  now: Date,
): ReplicaSetStatus {
  const active = pods.filter(isPodActive);
  const wantedLabels = Object.entries(set.spec.template.metadata?.labels ?? {});
  const isLabelled = (pod: Pod): boolean =>
    wantedLabels.every(([key, value]) => pod.metadata.labels?.[key] === value);
  const minReady = set.spec.minReadySeconds ?? 0;
  const conditions = conditionsOf(set, failure, now);
  return {
    replicas: active.length,
    ...counted('fullyLabeledReplicas', active.filter(isLabelled).length),
    ...counted('readyReplicas', active.filter(isPodReady).length),
    ...counted(
      'availableReplicas',
      active.filter((pod) => isPodAvailable(pod, minReady, now.getTime())).length,
    ),
    ...(set.metadata.generation === undefined ? {} : { observedGeneration: set.metadata.generation }),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

function counted<K extends string>(name: K, count: number): { readonly [P in K]?: number } {
  return (count === 0 ? {} : { [name]: count }) as { readonly [P in K]?: number };
}

function conditionsOf(
  set: ReplicaSet,
  failure: ReplicaFailure | undefined,
  now: Date,
): NonNullable<ReplicaSetStatus['conditions']> {
  const before = set.status?.conditions ?? [];
  if (!failure)
    return conditionOf(before, 'ReplicaFailure') ? withoutCondition(before, 'ReplicaFailure') : before;
  if (conditionOf(before, 'ReplicaFailure')) return before;
  return withCondition(
    before,
    { type: 'ReplicaFailure', status: 'True', ...failure },
    now.toISOString().replace(/\.\d+Z$/, 'Z'),
    'transition-only',
  );
}
