import type { Job } from '#lib/resources';
import { hasSucceeded, isJobFinished, jobCondition } from '../ended-jobs.js';

/** A failed Job is kept so long, for its log, and no other is made meanwhile. */
export const FAILED_KEPT_MS = 600_000;

/** Exports that wait for a place come first, but for so long only: days may hold bytes that must be erased. */
export const HELD_MS = 3_600_000;

/** The state of sealing, as one look finds it. */
export interface SealWorld {
  /** The worker's Job; undefined while none exists. */
  readonly job: Job | undefined;
  /** Days that wait for a worker. */
  readonly due: number;
  /** True when files are to be deleted, which a worker does as well. */
  readonly hasGarbage: boolean;
  /** Time since when waiting exports have held sealing back, in milliseconds; undefined while none waits. */
  readonly heldMs: number | undefined;
  readonly now: Date;
}

/** The next step. */
export type SealDecision =
  | { readonly kind: 'make' }
  | { readonly kind: 'remove'; readonly outcome: 'completed' | 'failed' }
  /** The Job has failed. Its Secret goes at once, the Job after `removeInMs`. */
  | { readonly kind: 'keep-failed'; readonly removeInMs: number; readonly message: string }
  | { readonly kind: 'wait' };

/** Decides the next step; pure. */
export function decideSeal({ job, due, hasGarbage, heldMs = HELD_MS, now }: SealWorld): SealDecision {
  if (!job) return (due > 0 || hasGarbage) && heldMs >= HELD_MS ? { kind: 'make' } : { kind: 'wait' };
  if (!isJobFinished(job) || job.metadata.deletionTimestamp !== undefined) return { kind: 'wait' };
  if (hasSucceeded(job)) return { kind: 'remove', outcome: 'completed' };
  const { lastTransitionTime, message = 'the worker failed' } = jobCondition(job, 'Failed') ?? {};
  const sinceMs = now.getTime() - new Date(lastTransitionTime ?? 0).getTime();
  if (sinceMs >= FAILED_KEPT_MS) return { kind: 'remove', outcome: 'failed' };
  return { kind: 'keep-failed', removeInMs: FAILED_KEPT_MS - sinceMs, message };
}
