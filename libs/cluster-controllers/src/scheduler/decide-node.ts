import { type Amounts, parseAmounts, podRequests, shortages } from '#lib/kube-semantics';
import type { Node, Pod } from '#lib/resources';
import { tolerates } from './tolerates.js';

/** A node and what the pods on it need together. */
export interface NodeLoad {
  readonly node: Node;
  readonly used: Amounts;
}

export type Placement =
  | { readonly kind: 'bind'; readonly nodeName: string }
  /**
   * Message in Kubernetes' words: `0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match …`.
   */
  | { readonly kind: 'unschedulable'; readonly message: string };

/** The node with the most free capacity among those that can take the pod. */
export function decideNode(pod: Pod, loads: readonly NodeLoad[]): Placement {
  const requests = podRequests(pod);
  const refusals = new Map<string, number>();
  let best: { name: string; score: number } | undefined;
  for (const load of loads) {
    const reasons = refusalsOf(pod, requests, load);
    for (const reason of reasons) refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    if (reasons.length > 0) continue;
    const score = freeShare(requests, load);
    if (!best || score > best.score) best = { name: load.node.metadata.name, score };
  }
  return best
    ? { kind: 'bind', nodeName: best.name }
    : { kind: 'unschedulable', message: explain(loads.length, refusals) };
}

function refusalsOf(pod: Pod, requests: Amounts, { node, used }: NodeLoad): readonly string[] {
  if (node.spec?.unschedulable && !toleratesUnschedulable(pod)) return ['node(s) were unschedulable'];
  if (!isReady(node)) return ['node(s) were not ready'];
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value))
    return ["node(s) didn't match Pod's node affinity/selector"];
  for (const taint of node.spec?.taints ?? []) {
    const isHard = taint.effect !== 'PreferNoSchedule';
    if (isHard && !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)))
      return [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`];
  }
  const short = shortages(requests, used, parseAmounts(node.status?.allocatable));
  return short.map(({ resource }) => (resource === 'pods' ? 'Too many pods' : `Insufficient ${resource}`));
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

function toleratesUnschedulable(pod: Pod): boolean {
  const taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' } as const;
  return (pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

/** Mean of the shares of cpu, memory and pods that stay free: fills nodes evenly. */
function freeShare(requests: Amounts, { node, used }: NodeLoad): number {
  const allocatable = parseAmounts(node.status?.allocatable);
  const shares = ['cpu', 'memory', 'pods'].map((name) => {
    const amountIn = (amounts: Amounts): number => Number(amounts.get(name) ?? 0n);
    const total = amountIn(allocatable);
    return total === 0 ? 0 : (total - amountIn(used) - amountIn(requests)) / total;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

function explain(nodes: number, refusals: ReadonlyMap<string, number>): string {
  if (nodes === 0) return 'no nodes available to schedule pods';
  const reasons = [...refusals].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${nodes} nodes are available: ${reasons.join(', ')}.`;
}
