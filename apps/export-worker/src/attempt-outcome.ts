import { errorText, TerminalError } from '#lib/errors';
import { ObjectStoreError } from '#lib/object-store';
import { NoAnswerError, sqlState } from '#lib/postgres';
import { type ExportProgressRecord, StaleAttemptError } from '#lib/trace-store';

/** Exit codes that the controller reads (after sysexits: EX_USAGE, EX_DATAERR, EX_TEMPFAIL). */
export const EXIT_CODE = { done: 0, unusable: 64, terminal: 65, retry: 75 } as const;

/** Result of an attempt, for the process and for the run's record. */
export interface AttemptOutcome {
  readonly exitCode: number;
  /** Text for people; without secrets. Undefined when there is nothing to record. */
  readonly message?: string;
}

/**
 * Sorts a failure: credentials and bucket need a person, and so does a spec that asks for what cannot be done; an attempt
 * that another has replaced has nothing more to say; everything else is worth another attempt.
 * @param record the run's progress, as far as it could be read
 */
export function outcomeOf(
  failure: unknown,
  attempt: number,
  record: ExportProgressRecord | undefined,
): AttemptOutcome {
  if (failure instanceof StaleAttemptError) {
    // a claim that was refused, and a database that fails since: the next attempt finds out why
    if (record === undefined) return { exitCode: EXIT_CODE.retry };
    if (record.state === 'completed') return { exitCode: EXIT_CODE.done };
    // suspended: the release begins another worker
    if (record.state === 'held') return { exitCode: EXIT_CODE.retry };
    // the same number twice: a second process of this attempt, as after a loss of the node. Only the next
    // attempt can settle if the first still writes or has recorded that it failed
    const isSecondProcess =
      record.attempt === attempt && (record.state === 'running' || record.state === 'failed');
    return { exitCode: isSecondProcess ? EXIT_CODE.retry : EXIT_CODE.terminal };
  }
  if (failure instanceof ObjectStoreError)
    // the cause may repeat what a foreign server answered: the code is enough
    return {
      exitCode: failure.isConfiguration ? EXIT_CODE.terminal : EXIT_CODE.retry,
      message: failure.message,
    };
  const exitCode = failure instanceof TerminalError ? EXIT_CODE.unusable : EXIT_CODE.retry;
  return { exitCode, message: recordedText(failure) };
}

/**
 * The record is shown to the workspace: what Postgres and its driver report names addresses, roles and tables of the
 * platform, which are for the worker's log.
 */
function recordedText(failure: unknown, depth = 0): string {
  if (failure instanceof NoAnswerError) return failure.message;
  const state = sqlState(failure);
  if (state !== undefined) return `the database reported an error (SQLSTATE ${state})`;
  if (!(failure instanceof Error) || failure.cause === undefined || depth > 4) return errorText(failure);
  return `${failure.message || failure.name}: ${recordedText(failure.cause, depth + 1)}`;
}
