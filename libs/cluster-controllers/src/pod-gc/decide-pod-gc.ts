import type { Pod } from '#lib/resources';
import { isPodFinished } from '../workload/pod-state.js';

export interface PodGcView {
  readonly pods: readonly Pod[];
  readonly nodeNames: ReadonlySet<string>;
  /** Finished pods that are kept. */
  readonly maxFinished: number;
}

/** Why a pod is removed. */
export type PodGcReason = 'finished' | 'node-gone' | 'never-scheduled';

export interface PodRemoval {
  readonly pod: Pod;
  readonly reason: PodGcReason;
}

/** The oldest finished pods over the bound, pods of nodes that are no more, and pods deleted before they had a node. */
export function decidePodGc({ pods, nodeNames, maxFinished }: PodGcView): readonly PodRemoval[] {
  const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
  const finished = pods.filter((pod) => isPodFinished(pod) && !isGoing(pod));
  const surplus = finished
    .toSorted((a, b) =>
      (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''),
    )
    .slice(0, Math.max(0, finished.length - maxFinished));
  const orphans = pods.filter(({ spec }) => spec.nodeName && !nodeNames.has(spec.nodeName));
  const unscheduled = pods.filter((pod) => isGoing(pod) && !pod.spec.nodeName);
  return [
    ...surplus.map((pod): PodRemoval => ({ pod, reason: 'finished' })),
    ...orphans
      .filter((pod) => !surplus.includes(pod))
      .map((pod): PodRemoval => ({ pod, reason: 'node-gone' })),
    ...unscheduled.map((pod): PodRemoval => ({ pod, reason: 'never-scheduled' })),
  ];
}
