import { type Amounts, podRequests, type Shortage, shortages, usedBy } from '#lib/kube-semantics';
import { type Pod, PROCESS_RUNTIME, selectsProcessRuntime } from '#lib/resources';

/** True when its status is final. */
export function isOver({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Reason why the node does not take a pod that is bound to it, in the words of a kubelet. */
export interface PodRejection {
  readonly reason: string;
  readonly message: string;
}

/**
 * A cluster sends some pods to every node, whatever its taints are: those of a DaemonSet that tolerates all of them. Their
 * images run nowhere here, or worse, one has the name of an image of this machine.
 */
export function foreignPod({ spec, metadata }: Pod): PodRejection | undefined {
  if (selectsProcessRuntime(spec)) return undefined;
  const selector = Object.entries(PROCESS_RUNTIME).map(([key, value]) => `${key}=${value}`);
  return {
    reason: 'NodeAffinity',
    message: `pod ${metadata.name} does not select ${selector.join(',')}: this node runs only processes of agentplane; exclude nodes with that label`,
  };
}

/** The order in which a kubelet looks; it names the first. */
const ORDER = ['pods', 'cpu', 'memory'];

/**
 * A creator may name the node, past the scheduler. Without this check such a pod would hold more than there is while
 * nothing of it runs, and no pod of anyone else would be bound. Resources that this node does not offer are not judged.
 * @param others pods that the node took and that have not ended
 */
export function rejectionOf(
  pod: Pod,
  others: readonly Pod[],
  allocatable: Amounts,
): PodRejection | undefined {
  const missing = shortages(podRequests(pod), usedBy(others), allocatable);
  const first = ORDER.map((name) => missing.find(({ resource }) => resource === name)).find(Boolean);
  return first && { reason: `OutOf${first.resource}`, message: messageOf(first) };
}

function messageOf({ resource, requested, used, capacity }: Shortage): string {
  const unit = resource === 'cpu' ? 10n ** 6n : 10n ** 9n;
  const [asked, taken, whole] = [requested, used, capacity].map((amount) => (amount + unit - 1n) / unit);
  return `Node didn't have enough resource: ${resource}, requested: ${asked}, used: ${taken}, capacity: ${whole}`;
}

/** Pods that the node took in an earlier life first, then the oldest: admission is decided in this order. */
export function inOrderOfArrival(pods: readonly Pod[]): readonly Pod[] {
  const rank = ({ metadata, status }: Pod): string =>
    `${status?.startTime === undefined ? 1 : 0} ${metadata.creationTimestamp ?? ''}`;
  return pods.toSorted((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0));
}
