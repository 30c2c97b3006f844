import { webhookState } from '#lib/export-plan';
import { ANNOTATION, type BulkExport, isDeleting } from '#lib/resources';
import type { WebhookAnswer } from '#lib/outbound';
import { isFinished, isSchedule } from '../bulk-export/export-phase.js';

/** Open deliveries of a workspace: each holds its export in the API server for a day at most. */
const MAX_OPEN = 200;

/** True when an export has a webhook that was neither delivered nor given up. Schedules call nothing. */
export function isOpen(bulkExport: BulkExport): boolean {
  return (
    bulkExport.spec.webhook !== undefined && !isSchedule(bulkExport) && webhookState(bulkExport) === 'PENDING'
  );
}

/** The ended exports of a workspace whose webhooks are more than are kept open, oldest first. */
export function beyondOpen(siblings: readonly BulkExport[], maxOpen = MAX_OPEN): readonly BulkExport[] {
  const open = siblings.filter((one) => isFinished(one) && isOpen(one) && !isDeleting(one));
  const beyond = open.length - maxOpen;
  if (beyond <= 0) return [];
  const endedAt = ({ status }: BulkExport): string => status?.finishedAt ?? '';
  return open
    .sort((a, b) => endedAt(a).localeCompare(endedAt(b)) || a.metadata.name.localeCompare(b.metadata.name))
    .slice(0, beyond);
}

/**
 * True when an export has to stay for a webhook: its own is open, or it owns the Secret of one that another
 * export names, which its deletion would take along. Only the owner is checked: hourly exports of one
 * schedule name one Secret, and some of them are unfinished at every time.
 */
export function isHeld(bulkExport: BulkExport, siblings: readonly BulkExport[]): boolean {
  if (isOpen(bulkExport)) return true;
  const secret = bulkExport.metadata.annotations?.[ANNOTATION.webhookSecret];
  return (
    secret !== undefined &&
    siblings.some(
      (other) =>
        other.metadata.uid !== bulkExport.metadata.uid &&
        other.spec.webhook?.secretRef?.name === secret &&
        (!isFinished(other) || isOpen(other)),
    )
  );
}

/** Outcome of a call that this program made. */
export interface CallOutcome {
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly answer: WebhookAnswer;
  /** Pause before the next attempt, milliseconds, in case there is one. */
  readonly pauseMs: number;
}

/** Everything that the next step of a delivery depends on. */
export interface WebhookWorld {
  readonly bulkExport: BulkExport;
  /** True while this program is making a call for it. */
  readonly isUnderWay: boolean;
  /** Outcome of the newest call until the status records it. */
  readonly outcome: CallOutcome | undefined;
  /** True when the workspace has too many newer deliveries. */
  readonly isPushedOut: boolean;
  /** The database's clock. */
  readonly now: Date;
}

export type WebhookDecision =
  /** Nothing to do until the export, or a call for it, ends. */
  | { readonly kind: 'keep' }
  /** It is looked at again after `ms`. */
  | { readonly kind: 'later'; readonly ms: number }
  | { readonly kind: 'attempt'; readonly attempt: number }
  | { readonly kind: 'delivered' }
  | { readonly kind: 'again'; readonly error: string; readonly at: Date }
  | { readonly kind: 'giveUp'; readonly error: string };

/** Runs of an export that failed or was cancelled end after it, and are waited for so long. */
const RUNS_MS = 60_000;
/** Time longer than a call takes: an attempt without an outcome after it was made by a program that died. */
const LOST_MS = 15_000;
/** Time from the first attempt. */
const GIVEN_UP_MS = 24 * 3_600_000;
const LONGEST_MS = 3_600_000;

const KEEP: WebhookDecision = { kind: 'keep' };

/**
 * Decides the next step of a delivery. Pure: the same world gives the same answer.
 *
 * An attempt is written to the status before its call is made, and its outcome afterwards: `lastAttemptAt`
 * without `nextAttemptAt` is an attempt without an outcome. It is either in flight here, or its program died.
 */
export function decideWebhook(world: WebhookWorld): WebhookDecision {
  const { bulkExport, isUnderWay, outcome, isPushedOut, now } = world;
  if (!isOpen(bulkExport) || isDeleting(bulkExport) || !isFinished(bulkExport)) return KEEP;
  const { attempts = 0, nextAttemptAt, lastError } = bulkExport.status?.webhook ?? {};
  if (outcome && outcome.attempt === attempts) return afterCall(world, outcome);
  if (isUnderWay) return KEEP;
  if (isPushedOut)
    return {
      kind: 'giveUp',
      error: 'too many webhooks of the workspace are open, and this one is the oldest',
    };
  if (attempts === 0) {
    const leftMs = untilRunsEnd(world);
    return leftMs > 0 ? later(leftMs) : { kind: 'attempt', attempt: 1 };
  }
  if (nextAttemptAt !== undefined) {
    const leftMs = Date.parse(nextAttemptAt) - now.getTime();
    return leftMs > 0 ? later(leftMs) : { kind: 'attempt', attempt: attempts + 1 };
  }
  const leftMs = LOST_MS - ageMs(bulkExport.status?.webhook?.lastAttemptAt, now);
  if (leftMs > 0) return later(leftMs);
  return ageMs(bulkExport.status?.webhook?.firstAttemptAt, now) > GIVEN_UP_MS
    ? { kind: 'giveUp', error: lastError ?? 'no call came to an end' }
    : { kind: 'attempt', attempt: attempts + 1 };
}

function afterCall(
  { bulkExport, isPushedOut, now }: WebhookWorld,
  { answer, pauseMs }: CallOutcome,
): WebhookDecision {
  if (answer.kind === 'accepted') return { kind: 'delivered' };
  const isLate = ageMs(bulkExport.status?.webhook?.firstAttemptAt, now) + pauseMs > GIVEN_UP_MS;
  return answer.isFinal || isLate || isPushedOut
    ? { kind: 'giveUp', error: answer.why }
    : { kind: 'again', error: answer.why, at: new Date(now.getTime() + pauseMs) };
}

function untilRunsEnd({ bulkExport: { status }, now }: WebhookWorld): number {
  const { created = 0, running = 0 } = status?.runs ?? {};
  if (created + running === 0) return 0;
  return RUNS_MS - ageMs(status?.finishedAt, now);
}

/** Infinite for a time that is not known: nothing is waited for then. */
function ageMs(time: string | undefined, now: Date): number {
  return time === undefined ? Infinity : now.getTime() - Date.parse(time);
}

function later(ms: number): WebhookDecision {
  return { kind: 'later', ms: Math.min(ms, LONGEST_MS) };
}
