import type { Pod } from '#lib/resources';
import { isPodReady, podCondition } from '../workload/pod-state.js';

/** The order in which surplus pods go, the first first: whatever is lost least. Kubernetes' own order without topology. */
export function byDeletionRank(a: Pod, b: Pod): number {
  return (
    Number(isAssigned(a)) - Number(isAssigned(b)) ||
    phaseRank(a) - phaseRank(b) ||
    Number(isPodReady(a)) - Number(isPodReady(b)) ||
    deletionCost(a) - deletionCost(b) ||
    readySince(b) - readySince(a) ||
    restarts(b) - restarts(a) ||
    created(b) - created(a)
  );
}

function isAssigned(pod: Pod): boolean {
  return Boolean(pod.spec.nodeName);
}

function phaseRank(pod: Pod): number {
  const phase = pod.status?.phase ?? 'Pending';
  switch (phase) {
    case 'Pending':
      return 0;
    case 'Unknown':
      return 1;
    case 'Running':
    case 'Succeeded':
    case 'Failed':
      return 2;
    default:
      return phase satisfies never;
  }
}

function deletionCost(pod: Pod): number {
  return Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0) || 0;
}

function readySince(pod: Pod): number {
  return isPodReady(pod) ? Date.parse(podCondition(pod, 'Ready')?.lastTransitionTime ?? '') || 0 : 0;
}

function restarts(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function created(pod: Pod): number {
  return Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
}
