import type { Node, NodeCondition, Taint } from '#lib/resources';

/** A node's lease is renewed every 10 s; after this long without it the node counts as lost. */
export const GRACE_MS = 40_000;

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
