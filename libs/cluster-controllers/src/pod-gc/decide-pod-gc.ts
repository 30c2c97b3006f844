import type { Pod } from '#lib/resources';
import { isPodFinished } from '../workload/pod-state.js';

export interface PodGcView {
  readonly pods: readonly Pod[];
  readonly nodeNames: ReadonlySet<string>;
  /** Finished pods that are kept, of all namespaces together. */
  readonly maxFinished: number;
}

/** Reason why a pod is removed. */
export type PodGcReason = 'finished' | 'node-gone' | 'never-scheduled';

export interface PodRemoval {
  readonly pod: Pod;
  readonly reason: PodGcReason;
}

/** Finished pods over the bound, the oldest of the namespaces that have most of them; pods of nodes that are no more, and pods deleted before they had a node. */
export function decidePodGc({ pods, nodeNames, maxFinished }: PodGcView): readonly PodRemoval[] {
  const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
  const finished = pods.filter((pod) => isPodFinished(pod) && !isGoing(pod));
  const surplus = surplusOf(finished, maxFinished);
  const orphans = pods.filter(({ spec }) => spec.nodeName && !nodeNames.has(spec.nodeName));
  const unscheduled = pods.filter((pod) => isGoing(pod) && !pod.spec.nodeName);
  return [
    ...[...surplus].map((pod): PodRemoval => ({ pod, reason: 'finished' })),
    ...orphans.filter((pod) => !surplus.has(pod)).map((pod): PodRemoval => ({ pod, reason: 'node-gone' })),
    ...unscheduled.map((pod): PodRemoval => ({ pod, reason: 'never-scheduled' })),
  ];
}

/**
 * Every namespace keeps its newest, as many as any other; one with fewer loses none. So one that finishes hundreds of pods a
 * minute removes no others, nor their logs.
 */
function surplusOf(finished: readonly Pod[], maxFinished: number): ReadonlySet<Pod> {
  const ofNamespace = new Map<string, Pod[]>();
  for (const pod of finished) {
    const { namespace = '' } = pod.metadata;
    const found = ofNamespace.get(namespace);
    if (found) found.push(pod);
    else ofNamespace.set(namespace, [pod]);
  }
  // the smallest first: what they leave of their share is for the others
  const groups = [...ofNamespace.values()].sort((a, b) => a.length - b.length);
  let room = maxFinished;
  return new Set(
    groups.flatMap((pods, at) => {
      const kept = Math.min(pods.length, Math.ceil(room / (groups.length - at)));
      room -= kept;
      return pods.toSorted(byAge).slice(0, pods.length - kept);
    }),
  );
}

function byAge(a: Pod, b: Pod): number {
  return (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
}
