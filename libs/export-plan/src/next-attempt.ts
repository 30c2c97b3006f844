import { type ExportLimits, renderLimit } from './limits.js';

/**
 * Source of a final refusal: the destination (credentials, missing bucket), or the worker, which refuses what
 * the run asks for.
 */
export type Refusal = 'DestinationRefused' | 'RunRefused';

/** End of an attempt, by its worker's exit code or its Job. */
export type AttemptEnd =
  | { readonly kind: 'succeeded' }
  /** The worker said that trying again cannot help. */
  | { readonly kind: 'terminal'; readonly reason: Refusal; readonly message: string }
  /** Everything else, crashes and time-outs of the run included. */
  | { readonly kind: 'failed'; readonly message: string; readonly endedAtMs: number };

export type NextAttempt =
  | { readonly kind: 'complete' }
  | {
      readonly kind: 'fail';
      /** The controller has a reason of the run for each. */
      readonly cause: Refusal | 'RetriesExhausted';
      readonly message: string;
    }
  | { readonly kind: 'retry'; readonly attempt: number; readonly afterMs: number };

/** Decides the step after the end of attempt `attempt` (1 is the first). Times are the database's. */
export function decideNextAttempt(
  attempt: number,
  end: AttemptEnd,
  nowMs: number,
  limits: ExportLimits,
): NextAttempt {
  switch (end.kind) {
    case 'succeeded':
      return { kind: 'complete' };
    case 'terminal':
      return { kind: 'fail', cause: end.reason, message: end.message };
    case 'failed':
      if (attempt > limits.retries)
        return {
          kind: 'fail',
          cause: 'RetriesExhausted',
          message: `${attempt} attempts failed, the last with: ${end.message}`,
        };
      return {
        kind: 'retry',
        attempt: attempt + 1,
        afterMs: Math.max(0, end.endedAtMs + limits.retryDelayMs - nowMs),
      };
    default:
      return end satisfies never;
  }
}

/** True when an export that began at `startedAtMs` has used up its time. */
export function isExportOverdue(startedAtMs: number, nowMs: number, limits: ExportLimits): boolean {
  return nowMs - startedAtMs > limits.exportTimeoutMs;
}

/** Message of an export and each of its runs once its time is used up. */
export function overdueText({ exportTimeoutMs }: ExportLimits): string {
  return `the export took longer than ${renderLimit(exportTimeoutMs)}; export a shorter window`;
}
