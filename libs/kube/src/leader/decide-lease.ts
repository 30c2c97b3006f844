import type { Lease } from '#lib/resources';

/**
 * Facts that a candidate knows when it looks at the lease. Times are of its own monotonic clock, so skewed
 * clocks do not matter.
 */
export interface LeaseView {
  readonly lease: Lease | undefined;
  readonly identity: string;
  readonly nowMs: number;
  /** Time at which this candidate first saw the lease in its present version. */
  readonly seenAtMs: number;
  /** Time of its previous look. */
  readonly lookedAtMs: number;
  /** Used when the lease does not say for how long it is taken. */
  readonly leaseDurationMs: number;
}

/**
 * - `create`: there is no lease
 * - `renew`: it is ours, perhaps from an earlier life of the same holder
 * - `take`: it has no holder, or its holder did not renew it for a whole lease
 * - `wait`: another candidate holds it
 * - `judge-later`: another candidate holds it, and this one slept for longer than a lease: the holder may have, too
 */
export type LeaseDecision = 'create' | 'renew' | 'take' | 'wait' | 'judge-later';

export function decideLease(view: LeaseView): LeaseDecision {
  const spec = view.lease?.spec;
  if (!view.lease) return 'create';
  if (!spec?.holderIdentity) return 'take';
  if (spec.holderIdentity === view.identity) return 'renew';
  const durationMs = spec.leaseDurationSeconds ? spec.leaseDurationSeconds * 1000 : view.leaseDurationMs;
  if (view.nowMs - view.lookedAtMs > durationMs) return 'judge-later';
  return view.nowMs - view.seenAtMs > durationMs ? 'take' : 'wait';
}
