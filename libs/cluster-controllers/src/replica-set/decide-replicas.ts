import type { Pod, ReplicaSet } from '#lib/resources';
import { isPodActive } from '../workload/pod-state.js';
import { byDeletionRank } from './deletion-rank.js';

/** Pods that are made or deleted in one pass. */
const BURST = 500;

export type ReplicaDecision =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly count: number }
  | { readonly kind: 'delete'; readonly pods: readonly Pod[] };

/** Step that brings the pods of a replica set to the wanted number. */
export function decideReplicas(set: ReplicaSet, pods: readonly Pod[]): ReplicaDecision {
  if (set.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  const active = pods.filter(isPodActive);
  const missing = (set.spec.replicas ?? 1) - active.length;
  if (missing > 0) return { kind: 'create', count: Math.min(missing, BURST) };
  if (missing === 0) return { kind: 'none' };
  return { kind: 'delete', pods: active.toSorted(byDeletionRank).slice(0, Math.min(-missing, BURST)) };
}
