import { isPodReady, type Job, type JobSpec, type Pod } from '#lib/resources';
import { isPodFinished } from '../workload/workload-condition.js';

export type FailureJudgement =
  | { readonly kind: 'count' }
  | { readonly kind: 'ignore' }
  | { readonly kind: 'fail-job'; readonly message: string };

type Rule = NonNullable<JobSpec['podFailurePolicy']>['rules'][number];

/** Meaning of a failed pod for its job, by the first rule of `spec.podFailurePolicy` that fits. */
export function judgeFailure(job: Job, pod: Pod): FailureJudgement {
  for (const [at, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const match = matchRule(rule, pod);
    if (match === undefined) continue;
    switch (rule.action) {
      case 'Ignore':
        return { kind: 'ignore' };
      case 'FailJob':
        return { kind: 'fail-job', message: `${match} matching FailJob rule at index ${at}` };
      case 'Count':
      case 'FailIndex':
        return { kind: 'count' };
      default:
        return rule.action satisfies never;
    }
  }
  return { kind: 'count' };
}

/** Words about what fitted; undefined when nothing did. */
function matchRule(rule: Rule, pod: Pod): string | undefined {
  const podName = `${pod.metadata.namespace}/${pod.metadata.name}`;
  const exit = rule.onExitCodes;
  if (exit) {
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
    for (const { name, state } of statuses) {
      const code = state?.terminated?.exitCode;
      if (code === undefined || code === 0 || (exit.containerName ?? name) !== name) continue;
      if (exit.values.includes(code) === (exit.operator === 'In'))
        return `Container ${name} for pod ${podName} failed with exit code ${code}`;
    }
  }
  for (const pattern of rule.onPodConditions ?? []) {
    const condition = pod.status?.conditions?.find(({ type }) => type === pattern.type);
    if (condition?.status === (pattern.status ?? 'True'))
      return `Pod ${podName} has condition ${pattern.type}`;
  }
  return undefined;
}

/** Keeps a finished pod until the job has counted it. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';

/**
 * Count of a job's pods, in which each counts exactly once across deletions and crashes: a finished pod is
 * first noted in `status.uncountedTerminatedPods`, then loses its tracking finalizer, then moves from that
 * list into the count. Deleted pods that never finished count as failed.
 */
export interface PodCount {
  /** Counted for good, including those that move out of the list with this pass. */
  readonly succeeded: number;
  readonly failed: number;
  /** Pods to note: earlier ones whose finalizer is still on, and the new ones. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Pods whose finalizer can go once the lists are written. */
  readonly toRelease: readonly Pod[];
  readonly active: readonly Pod[];
  readonly ready: number;
  readonly terminating: number;
  /** Set when a failed pod fails the whole job. */
  readonly verdict?: string;
}

export function countPods(job: Job, pods: readonly Pod[]): PodCount {
  const noted = job.status?.uncountedTerminatedPods;
  const tracked = new Map(pods.filter(isTracked).map((pod) => [pod.metadata.uid ?? '', pod]));
  const kept = { succeeded: new Set<string>(), failed: new Set<string>() };
  let succeeded = job.status?.succeeded ?? 0;
  let failed = job.status?.failed ?? 0;
  for (const uid of noted?.succeeded ?? []) {
    if (tracked.has(uid)) kept.succeeded.add(uid);
    else succeeded++;
  }
  for (const uid of noted?.failed ?? []) {
    if (tracked.has(uid)) kept.failed.add(uid);
    else failed++;
  }

  const toRelease: Pod[] = [];
  let verdict: string | undefined;
  for (const [uid, pod] of tracked) {
    if (!isPodFinished(pod) && !isLost(pod)) continue;
    toRelease.push(pod);
    if (kept.succeeded.has(uid) || kept.failed.has(uid)) continue;
    if (pod.status?.phase === 'Succeeded') {
      kept.succeeded.add(uid);
      continue;
    }
    // whom a suspension stopped did not fail
    if (job.spec.suspend && pod.status?.phase !== 'Failed') continue;
    const judgement = judgeFailure(job, pod);
    if (judgement.kind === 'fail-job') verdict ??= judgement.message;
    if (judgement.kind !== 'ignore') kept.failed.add(uid);
  }
  const active = pods.filter((pod) => !isPodFinished(pod) && pod.metadata.deletionTimestamp === undefined);
  return {
    succeeded,
    failed,
    uncounted: { succeeded: [...kept.succeeded], failed: [...kept.failed] },
    toRelease,
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter((pod) => !isPodFinished(pod) && pod.metadata.deletionTimestamp !== undefined)
      .length,
    ...(verdict === undefined ? {} : { verdict }),
  };
}

export function isTracked(pod: Pod): boolean {
  return pod.metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false;
}

/** Deleted before it ended: held by our finalizer alone, the pod does not run any more. */
function isLost(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined &&
    (!pod.spec.nodeName || pod.metadata.deletionGracePeriodSeconds === 0)
  );
}
