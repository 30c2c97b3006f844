import { hasMoreValues } from '#lib/json';
import type { ClaimedRun, RunEnd } from '../store/row/claimed-run.js';
import type { CancelAction, StoredRun } from '../store/row/run-row.js';
import type { EncodedEvent, RunEvent } from '../stream/run-event.js';
import { FRAMES_FD } from './frame.js';

/** A run as its attempt is performed. */
export interface AttemptedRun extends StoredRun, Pick<ClaimedRun, 'attempt' | 'cancel' | 'isThreadEmpty'> {}

/**
 * JSON of an attempted run.
 * @param input JSON text of an object with the fields missing from the claim; it is not parsed
 */
export function attemptText(run: ClaimedRun, input: string): string {
  const { runId, threadId, isTemporary, assistantId, graphId, attempt, cancel, isThreadEmpty } = run;
  const header = { runId, threadId, isTemporary, assistantId, graphId, attempt, cancel, isThreadEmpty };
  return `${JSON.stringify(header).slice(0, -1)},${input.slice(1)}`;
}

/**
 * Limit per text of a graph: 270 MB once it is parsed, as texts of 64 MB may be if they hold nothing but
 * values.
 */
const MAX_VALUES = 4_000_000;

/** Reason for which a text of a graph must not leave its process: its size, or the number of its values. */
export function textTrouble(what: string, text: string, maxBytes: number): string | undefined {
  const bytes = bytesBeyond(text, maxBytes);
  if (bytes !== undefined)
    return `${what} has ${bytes} bytes; the limit is ${maxBytes} (AGENTPLANE_EVENT_MB of the deployment): keep large values outside of the state, or raise it`;
  return hasMoreValues(text, MAX_VALUES)
    ? `${what} holds more than ${MAX_VALUES} items and members of lists and objects: keep large values outside of the state, or as one text`
    : undefined;
}

/** Bytes of a text in UTF-8 when there are more than allowed. */
function bytesBeyond(text: string, maxBytes: number): number | undefined {
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? bytes : undefined;
}

/** Cause for which a run in progress is stopped from outside. */
export type StopReason =
  | {
      readonly kind: 'cancelled';
      readonly action: CancelAction;
      /** The `cancel_reason` of the run, which its trace shows. */
      readonly why?: string | undefined;
    }
  | { readonly kind: 'timed-out'; readonly limitMs: number }
  | { readonly kind: 'handed-back' } // the server stops; another continues
  | { readonly kind: 'lost'; readonly error: unknown }; // its lease ran out or its database is unavailable

/** Outcome of an attempt. */
export type Outcome =
  | { readonly kind: 'ended'; readonly end: RunEnd; readonly body: string }
  | Exclude<StopReason, { kind: 'cancelled' | 'timed-out' }>
  /** Its process ended under it; `isCharged`: the run was alone there, so the process ended because of it. */
  | { readonly kind: 'crashed'; readonly isCharged: boolean; readonly error: unknown };

/** Receiver of the output of an attempt. */
export interface OutputSink {
  emit(event: RunEvent | EncodedEvent): void;
  /** True when the output has readers; unread output need not become text. */
  isWanted(): boolean;
  /** True when a client waits for the result: a run without a thread keeps none. */
  isAwaited(): boolean;
}

/** One attempt of a run. */
export interface Execution {
  readonly run: ClaimedRun;
  /** Runs the graph to its end or to a stop. Never rejects. */
  perform(): Promise<Outcome>;
  /** Stops the graph; the first reason counts. */
  stop(reason: StopReason): void;
  /** The answers of the sink's `isWanted` and `isAwaited` may be others now. */
  wantedChanged(): void;
  /** Makes the graph wait before it makes more output, or continue. */
  hold(isHeld: boolean): void;
}

/** Error for readers and waiters of a run that was cancelled. */
export const CANCELLED = { error: 'UserInterrupt', message: 'The run was cancelled' } as const;

/** Error for readers and waiters of a run that took too long. */
export function timedOut(limitMs: number): { readonly error: string; readonly message: string } {
  return {
    error: 'RunTimeout',
    message: `The run was stopped at its time limit of ${limitMs / 1000} s; BG_JOB_TIMEOUT_SECS of the deployment sets it`,
  };
}

/** The end of a run whose host sent an end that cannot be read. */
export function unreadableOutcome(problem: string): Extract<Outcome, { kind: 'ended' }> {
  const message = `The graph host sent an end of the run that cannot be read: ${problem}; look for code of the agent that writes to file descriptor ${FRAMES_FD}, which is the platform's`;
  return ended({ status: 'error', threadStatus: 'error', error: { error: 'OutcomeUnreadable', message } });
}

/** The end of a run that was stopped where no graph could answer. */
export function stoppedOutcome(reason: StopReason): Outcome {
  switch (reason.kind) {
    case 'cancelled':
      return reason.action === 'rollback'
        ? {
            ...ended({ status: 'interrupted', threadStatus: 'interrupted', error: CANCELLED }),
            end: { status: 'interrupted', threadStatus: 'idle', isRollback: true },
          }
        : ended({ status: 'interrupted', threadStatus: 'interrupted', error: CANCELLED });
    case 'timed-out':
      return ended({ status: 'timeout', threadStatus: 'error', error: timedOut(reason.limitMs) });
    case 'handed-back':
    case 'lost':
      return reason;
    default:
      return reason satisfies never;
  }
}

function ended(end: RunEnd): Extract<Outcome, { kind: 'ended' }> {
  return { kind: 'ended', body: JSON.stringify({ __error__: end.error }), end };
}
