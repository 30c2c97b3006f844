import { approximateNumber } from '#lib/kube-semantics';
import type { Pod, PodContainer } from '#lib/resources';

export type Amounts = ReadonlyMap<string, number>;

/** Objects of a cache never change, and every placement adds all of them up. */
const known = new WeakMap<Pod, Amounts>();

/** What a pod needs of each resource: its containers together or its greediest init container, plus overhead, and one pod. */
export function podRequests(pod: Pod): Amounts {
  let requests = known.get(pod);
  if (!requests) {
    requests = computeRequests(pod);
    known.set(pod, requests);
  }
  return requests;
}

function computeRequests({ spec }: Pod): Amounts {
  const together = new Map<string, number>();
  for (const container of spec.containers) addTo(together, requestsOf(container));
  for (const container of spec.initContainers ?? [])
    for (const [name, amount] of requestsOf(container))
      together.set(name, Math.max(together.get(name) ?? 0, amount));
  addTo(together, parseAmounts(spec.overhead));
  together.set('pods', 1);
  return together;
}

/** Amounts by resource name; a text that is not a quantity counts as nothing. */
export function parseAmounts(quantities: Readonly<Record<string, string>> | undefined): Map<string, number> {
  const amounts = new Map<string, number>();
  for (const [name, text] of Object.entries(quantities ?? {})) {
    const amount = approximateNumber(String(text).trim());
    if (amount !== undefined) amounts.set(name, amount);
  }
  return amounts;
}

export function addTo(sum: Map<string, number>, amounts: Amounts): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0) + amount);
}

/** A limit without a request counts as the request. */
function requestsOf({ resources }: PodContainer): Map<string, number> {
  return parseAmounts({ ...resources?.limits, ...resources?.requests });
}
