import { unless } from '#lib/errors';
import { type ControllerSpec, fromMapped, fromObjects, isNotFound } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import {
  isPodReady,
  keyOf,
  LEASES,
  type Node,
  type NodeCondition,
  NODES,
  type ObjectKey,
  type Pod,
  PODS,
  type Taint,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { ClusterContext } from '../context/discovery.js';
import { tolerates } from '../scheduler/tolerates.js';
import { isPodFinished, timeText } from '../workload/workload-condition.js';

/** A node's lease is renewed every 10 s; after this long without it the node counts as lost. */
const GRACE_MS = 40_000;

export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';
export const UNREACHABLE_TAINT = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE_TAINT = 'node.kubernetes.io/unschedulable';
const OURS: ReadonlySet<string> = new Set([NOT_READY_TAINT, UNREACHABLE_TAINT, UNSCHEDULABLE_TAINT]);

export interface NodeView {
  readonly node: Node;
  /** Milliseconds for which we, awake, have seen no sign of it. */
  readonly silentMs: number;
  readonly now: Date;
}

export interface NodeHealth {
  /** Conditions to write, the whole list; undefined when they are right. */
  readonly conditions: readonly NodeCondition[] | undefined;
  /** Taints to write, the whole list; undefined when they are right. */
  readonly taints: readonly Taint[] | undefined;
  readonly isReady: boolean;
}

/** A silent node's conditions become Unknown; taints follow the Ready condition. */
export function decideNodeHealth({ node, silentMs, now }: NodeView): NodeHealth {
  const before = node.status?.conditions ?? [];
  const conditions = silentMs > GRACE_MS ? markUnknown(before, now) : undefined;
  const ready = (conditions ?? before).find(({ type }) => type === 'Ready')?.status;
  const taints = taintsOf(node, ready, now);
  return { conditions, taints, isReady: ready === 'True' };
}

function markUnknown(before: readonly NodeCondition[], now: Date): readonly NodeCondition[] | undefined {
  const at = now.toISOString().replace(/\.\d+Z$/, 'Z');
  const unknown = (condition: NodeCondition): NodeCondition =>
    condition.status === 'Unknown'
      ? condition
      : {
          ...condition,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: at,
        };
  const never: NodeCondition = {
    type: 'Ready',
    status: 'Unknown',
    reason: 'NodeStatusNeverUpdated',
    message: 'Kubelet never posted node status.',
    lastTransitionTime: at,
  };
  const after = before.map(unknown);
  if (!after.some(({ type }) => type === 'Ready')) return [...after, never];
  return after.every((condition, index) => condition === before[index]) ? undefined : after;
}

function taintsOf(node: Node, ready: string | undefined, now: Date): readonly Taint[] | undefined {
  const before = node.spec?.taints ?? [];
  const wanted: Taint[] = [];
  const key = ready === 'True' ? undefined : ready === 'False' ? NOT_READY_TAINT : UNREACHABLE_TAINT;
  if (key)
    wanted.push(
      { key, effect: 'NoSchedule' },
      { key, effect: 'NoExecute', timeAdded: now.toISOString().replace(/\.\d+Z$/, 'Z') },
    );
  if (node.spec?.unschedulable) wanted.push({ key: UNSCHEDULABLE_TAINT, effect: 'NoSchedule' });
  const isSame = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
  const others = before.filter((taint) => !OURS.has(taint.key));
  // an existing taint keeps its time: evictions count from it
  const kept = wanted.map((taint) => before.find((one) => isSame(one, taint)) ?? taint);
  const after = [...others, ...kept];
  const isUnchanged = after.length === before.length && after.every((taint) => before.includes(taint));
  return isUnchanged ? undefined : after;
}

interface Sign {
  readonly value: string;
  /** Time awake when it was seen first. */
  readonly seenAtMs: number;
}

/**
 * Time for which nodes have been silent, by our own count of the time that we were awake. A machine that
 * slept, or was stopped, wakes with every lease expired: that silence is ours and not the nodes'.
 */
export class SignsOfLife {
  readonly #signs = new Map<string, Sign>();
  #lookedAtMs: number;
  #awakeMs = 0;
  #wokeAtMs = 0;

  constructor(private readonly clock: Clock) {
    this.#lookedAtMs = clock.monotonicMs();
  }

  /** To be called every few seconds; a longer gap than a lease was a suspension, and every node gets a whole lease to report. */
  look(): void {
    const now = this.clock.monotonicMs();
    const gapMs = now - this.#lookedAtMs;
    this.#lookedAtMs = now;
    if (gapMs <= GRACE_MS / 2) {
      this.#awakeMs += gapMs;
      return;
    }
    this.#signs.clear();
    this.#wokeAtMs = this.#awakeMs;
  }

  /**
   * True for one lease after waking (or starting), in which no pod is evicted: a node that was marked before
   * may be waking, too.
   */
  get hasJustWoken(): boolean {
    return this.#awakeMs - this.#wokeAtMs <= GRACE_MS;
  }

  /** Milliseconds awake since the node's sign (the time of its lease, the heartbeat of its status) changed last. */
  silentMs(nodeName: string, sign: string): number {
    const known = this.#signs.get(nodeName);
    if (known?.value === sign) return this.#awakeMs - known.seenAtMs;
    this.#signs.set(nodeName, { value: sign, seenAtMs: this.#awakeMs });
    return 0;
  }

  forget(nodeName: string): void {
    this.#signs.delete(nodeName);
  }
}

/** Default that Kubernetes' admission gives every pod; used for pods that were admitted without it. */
const DEFAULT_SECONDS = 300;

/** Time at which a pod must leave its node, in milliseconds since the epoch; undefined: it may stay. */
export function evictionTimeMs(pod: Pod, node: Node): number | undefined {
  let earliest: number | undefined;
  for (const taint of node.spec?.taints ?? []) {
    if (taint.effect !== 'NoExecute') continue;
    const sinceMs = Date.parse(taint.timeAdded ?? '') || 0;
    const tolerations = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (tolerations.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) continue;
    const isOurs = taint.key === NOT_READY_TAINT || taint.key === UNREACHABLE_TAINT;
    const seconds = tolerations.map(({ tolerationSeconds = 0 }) => tolerationSeconds);
    const staySeconds = seconds.length > 0 ? Math.min(...seconds) : isOurs ? DEFAULT_SECONDS : 0;
    const atMs = sinceMs + Math.max(0, staySeconds) * 1000;
    earliest = earliest === undefined ? atMs : Math.min(earliest, atMs);
  }
  return earliest;
}

const LOOK_MS = 5_000;
const LEASE_NAMESPACE = { namespace: 'kube-node-lease' };
const BOUND_INDEX = 'bound-to';

/** Marks nodes that fell silent, taints them, and evicts pods that do not tolerate it. */
export function nodeLifecycleController(context: ClusterContext): ControllerSpec {
  const { informers } = context;
  const pods = informers.of(PODS);
  pods.addIndex(BOUND_INDEX, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
  const lifecycle = new NodeLifecycle(context);
  return {
    name: 'node-lifecycle',
    concurrency: 1,
    reconcile: (key) => lifecycle.reconcile(key),
    sources: [
      fromObjects(informers.of(NODES)),
      fromMapped(informers.of(LEASES, LEASE_NAMESPACE), ({ metadata }) => [{ name: metadata.name }]),
    ],
  };
}

class NodeLifecycle {
  readonly #signs: SignsOfLife;

  constructor(private readonly context: ClusterContext) {
    this.#signs = new SignsOfLife(context.clock);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { informers, clock, client } = this.context;
    this.#signs.look();
    const node = informers.of(NODES).find(key);
    if (!node) {
      this.#signs.forget(key.name);
      return done();
    }
    const silentMs = this.#signs.silentMs(key.name, this.#signOf(node));
    const health = decideNodeHealth({ node, silentMs, now: clock.now() });
    let current = node;
    if (health.conditions) {
      current = await client.mergeStatus(NODES, key, {
        metadata: versionOf(current),
        status: { conditions: health.conditions },
      });
      this.context.events.record(NODES, node, {
        type: 'Normal',
        reason: 'NodeNotReady',
        message: `Node ${key.name} status is now: NodeNotReady`,
      });
    }
    if (health.taints)
      current = await client.merge(NODES, key, {
        metadata: versionOf(current),
        spec: { taints: health.taints },
      });
    await this.#tendPods(current, health.isReady);
    return after(LOOK_MS);
  }

  #signOf(node: Node): string {
    const lease = this.context.informers
      .of(LEASES, LEASE_NAMESPACE)
      .find({ ...LEASE_NAMESPACE, name: node.metadata.name });
    const heartbeat = node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
    return `${node.metadata.uid} ${lease?.spec?.renewTime ?? ''} ${heartbeat ?? ''}`;
  }

  async #tendPods(node: Node, isReady: boolean): Promise<void> {
    const { informers, clock, client, events } = this.context;
    for (const pod of informers.of(PODS).byIndex(BOUND_INDEX, node.metadata.name)) {
      if (pod.metadata.deletionTimestamp !== undefined || isPodFinished(pod)) continue;
      const atMs = evictionTimeMs(pod, node);
      if (atMs !== undefined && atMs <= clock.now().getTime() && !this.#signs.hasJustWoken) {
        const { uid } = pod.metadata;
        events.record(PODS, pod, {
          type: 'Normal',
          reason: 'TaintManagerEviction',
          message: `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`,
        });
        await client.delete(PODS, keyOf(pod), uid === undefined ? {} : { uid });
      } else if (!isReady) {
        await this.#markNotReady(pod);
      }
    }
  }

  /** The state of a silent node's pods is unknown, so they get no requests. */
  async #markNotReady(pod: Pod): Promise<void> {
    if (!isPodReady(pod)) return;
    const { clock, client } = this.context;
    const conditions = pod.status?.conditions?.map((condition) =>
      condition.type === 'Ready'
        ? { ...condition, status: 'False' as const, lastTransitionTime: timeText(clock.now()) }
        : condition,
    );
    const change = { metadata: versionOf(pod), status: { conditions: conditions ?? [] } };
    await client.mergeStatus(PODS, keyOf(pod), change).catch(unless(isNotFound));
  }
}

function versionOf({ metadata }: Node | Pod): { readonly resourceVersion?: string } {
  return metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion };
}
