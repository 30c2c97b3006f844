import {
  type Change,
  type ControllerSpec,
  fromMapped,
  fromObjects,
  type Informer,
  isConflict,
  isNotFound,
  type Source,
} from '#lib/kube';
import { type Amounts, parseAmounts, podRequests, shortages, usedBy } from '#lib/kube-semantics';
import { after, done, type Result } from '#lib/reconcile';
import {
  CONDITION,
  isConditionTrue,
  keyOf,
  keyText,
  type Node,
  NODES,
  type ObjectKey,
  type Pod,
  PODS,
} from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { isPodFinished, podCondition, timeText } from '../workload/workload-condition.js';
import { tolerates } from './tolerates.js';

/** A node and what the pods on it need together. */
interface NodeLoad {
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
  if (!isConditionTrue(node.status?.conditions, CONDITION.ready)) return ['node(s) were not ready'];
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

const NODE_INDEX = 'node-name';
/** Index value of pods that wait for a node. */
const PENDING = '';
/** Pods that fit nowhere are looked at again even if nothing was seen to change. */
const RETRY_MS = 60_000;

/**
 * Binds pods to nodes. Choosing a node and assuming the pod there is one step without a pause in between, so
 * bindings can be in flight at the same time and yet each sees the capacity that the others left.
 */
export function schedulerController(context: ClusterContext): ControllerSpec {
  const { informers } = context;
  const pods = informers.of(PODS);
  const nodes = informers.of(NODES);
  pods.addIndex(NODE_INDEX, (pod) => (isPodFinished(pod) ? [] : [pod.spec.nodeName ?? PENDING]));
  const scheduler = new Scheduler(context);
  const pending = (): ObjectKey[] => pods.byIndex(NODE_INDEX, PENDING).map(keyOf);
  return {
    name: 'scheduler',
    concurrency: 8,
    reconcile: (key) => scheduler.reconcile(key),
    sources: [
      fromObjects(pods, ({ kind, object }) => kind === 'deleted' || isWaiting(object)),
      whenRoomAppears(pods, pending),
      fromMapped(nodes, pending),
    ],
  };
}

/** Wakes all pending pods when one ended or was deleted, which frees capacity. */
function whenRoomAppears(pods: Informer<Pod>, pending: () => ObjectKey[]): Source {
  const frees = (change: Change<Pod>): boolean => {
    if (!change.object.spec.nodeName) return false;
    if (change.kind === 'deleted') return true;
    return change.kind === 'changed' && isPodFinished(change.object) && !isPodFinished(change.before);
  };
  return {
    feed: (enqueue) =>
      pods.on((change) => {
        if (frees(change)) for (const key of pending()) enqueue(key);
      }),
  };
}

function isWaiting(pod: Pod): boolean {
  return (
    !pod.spec.nodeName &&
    !isPodFinished(pod) &&
    pod.metadata.deletionTimestamp === undefined &&
    (pod.spec.schedulerName ?? 'default-scheduler') === 'default-scheduler' &&
    (pod.spec.schedulingGates ?? []).length === 0
  );
}

class Scheduler {
  /** Bindings that the cache may not show yet: pod uid → the pod as if it were bound. */
  readonly #assumed = new Map<string, Pod>();

  constructor(private readonly context: ClusterContext) {}

  async reconcile(key: ObjectKey): Promise<Result> {
    const pod = this.context.informers.of(PODS).find(key);
    if (!pod || !isWaiting(pod) || this.#assumed.has(pod.metadata.uid ?? '')) {
      this.#settleAssumed();
      return done();
    }
    const placement = decideNode(pod, this.#loads());
    switch (placement.kind) {
      case 'bind':
        return await this.#bind(pod, placement.nodeName);
      case 'unschedulable':
        return await this.#refuse(pod, placement.message);
      default:
        return placement satisfies never;
    }
  }

  /** Bindings that the cache shows, or whose pod is deleted, are no longer assumed. */
  #settleAssumed(): void {
    const pods = this.context.informers.of(PODS);
    for (const [uid, pod] of this.#assumed) {
      const known = pods.find(keyOf(pod));
      if (known?.metadata.uid !== uid || known.spec.nodeName) this.#assumed.delete(uid);
    }
  }

  #loads(): readonly NodeLoad[] {
    this.#settleAssumed();
    const { informers } = this.context;
    const pods = informers.of(PODS);
    return informers
      .of(NODES)
      .list()
      .map((node): NodeLoad => {
        const { name } = node.metadata;
        const assumed = [...this.#assumed.values()].filter(({ spec }) => spec.nodeName === name);
        return { node, used: usedBy([...pods.byIndex(NODE_INDEX, name), ...assumed]) };
      });
  }

  async #bind(pod: Pod, nodeName: string): Promise<Result> {
    const { client, events } = this.context;
    const { name, namespace, uid = '' } = pod.metadata;
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
    };
    this.#assumed.set(uid, { ...pod, spec: { ...pod.spec, nodeName } });
    try {
      await client.createSubresource(PODS, keyOf(pod), 'binding', binding);
    } catch (error) {
      this.#assumed.delete(uid);
      // deleted, recreated or bound meanwhile
      if (isNotFound(error) || isConflict(error)) return done();
      throw error;
    }
    const message = `Successfully assigned ${keyText(keyOf(pod))} to ${nodeName}`;
    events.record(PODS, pod, { type: 'Normal', reason: 'Scheduled', message });
    return done();
  }

  async #refuse(pod: Pod, message: string): Promise<Result> {
    const { client, clock, events } = this.context;
    events.record(PODS, pod, { type: 'Warning', reason: 'FailedScheduling', message });
    const before = podCondition(pod, 'PodScheduled');
    if (before?.status !== 'False' || before.message !== message) {
      const lastTransitionTime =
        before?.status === 'False'
          ? (before.lastTransitionTime ?? timeText(clock.now()))
          : timeText(clock.now());
      const condition = {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message,
        lastProbeTime: null,
        lastTransitionTime,
      } as const;
      const others = pod.status?.conditions?.filter(({ type }) => type !== 'PodScheduled') ?? [];
      const { resourceVersion } = pod.metadata;
      await client.mergeStatus(PODS, keyOf(pod), {
        metadata: resourceVersion === undefined ? {} : { resourceVersion },
        status: { phase: 'Pending', conditions: [...others, condition] },
      });
    }
    return after(RETRY_MS);
  }
}
