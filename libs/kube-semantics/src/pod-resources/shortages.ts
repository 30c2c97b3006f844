import { listAt, recordAt, textAt } from '../object/reading.js';
import { parseQuantity } from '../quantity/quantity.js';

/** Billionths by resource name: sums stay exact, however often something is added and taken off again. */
export type Amounts = ReadonlyMap<string, bigint>;

const ONE = 10n ** 9n;

/** Objects of a cache never change, and every placement adds all of them up. */
const known = new WeakMap<object, Amounts>();

/**
 * Resources that a pod requests, as `PodRequests` of Kubernetes: its containers and sidecars together or its
 * largest init container with the sidecars before it, unless the pod names its own; plus overhead; and one of
 * `pods`.
 */
export function podRequests(pod: object): Amounts {
  let requests = known.get(pod);
  if (!requests) {
    requests = computeRequests(pod);
    known.set(pod, requests);
  }
  return requests;
}

function computeRequests(pod: object): Amounts {
  const together = new Map<string, bigint>();
  for (const container of listAt(pod, 'spec', 'containers')) addAmounts(together, requestsOf(container));
  const sidecars = new Map<string, bigint>();
  const greediest = new Map<string, bigint>();
  for (const container of listAt(pod, 'spec', 'initContainers')) {
    const own = requestsOf(container);
    const isSidecar = textAt(container, ['restartPolicy']) === 'Always';
    if (isSidecar) for (const sum of [together, sidecars]) addAmounts(sum, own);
    const meanwhile = new Map(sidecars);
    if (!isSidecar) addAmounts(meanwhile, own);
    raise(greediest, meanwhile);
  }
  raise(together, greediest);
  for (const [name, amount] of requestsOf(recordAt(pod, 'spec'))) together.set(name, amount);
  addAmounts(together, parseAmounts(recordAt(pod, 'spec', 'overhead')));
  together.set('pods', ONE);
  return together;
}

/** Amounts by resource name; what is no quantity, or a negative one, counts as nothing. */
export function parseAmounts(quantities: Readonly<Record<string, unknown>> | undefined): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const [name, value] of Object.entries(quantities ?? {})) {
    const quantity = parseQuantity(String(value).trim());
    if (quantity && quantity.nano >= 0n) amounts.set(name, quantity.nano);
  }
  return amounts;
}

export function addAmounts(sum: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) sum.set(name, (sum.get(name) ?? 0n) + amount);
}

function raise(least: Map<string, bigint>, amounts: Amounts): void {
  for (const [name, amount] of amounts) if (amount > (least.get(name) ?? 0n)) least.set(name, amount);
}

/** A limit without a request counts as the request. */
function requestsOf(holder: unknown): Map<string, bigint> {
  return parseAmounts({
    ...recordAt(holder, 'resources', 'limits'),
    ...recordAt(holder, 'resources', 'requests'),
  });
}

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
