import { TerminalError } from '#lib/errors';

/** A write came from an attempt that is no longer the current one; its owner must stop and touch nothing more. */
export class StaleAttemptError extends TerminalError {
  constructor(runUid: string, attempt: number) {
    super(
      'StaleAttempt',
      `attempt ${attempt} of export run ${runUid} is not in force any more; another one has taken over, or the run ended`,
    );
  }
}
