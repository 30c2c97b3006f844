import type { ClaimedRun } from '../store/row/claimed-run.js';
import type { StoredRun } from '../store/row/stored-run.js';

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
