import { type Amounts, addAmounts, podRequests } from './pod-requests.js';

/** A resource of which a pod asks for more than is left. */
export interface Shortage {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

/** Resources that all these pods request together. */
export function usedBy(pods: readonly object[]): Amounts {
  const used = new Map<string, bigint>();
  for (const pod of pods) addAmounts(used, podRequests(pod));
  return used;
}

/**
 * Reason why a pod with these requests does not fit beside what is used; the scheduler and the node judge
 * alike.
 */
export function shortages(requests: Amounts, used: Amounts, allocatable: Amounts): readonly Shortage[] {
  return [...requests].flatMap(([resource, requested]) => {
    const taken = used.get(resource) ?? 0n;
    const capacity = allocatable.get(resource) ?? 0n;
    return requested > 0n && requested + taken > capacity
      ? [{ resource, requested, used: taken, capacity }]
      : [];
  });
}
