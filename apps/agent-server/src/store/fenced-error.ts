/** Thrown into a run whose lease another server holds by now: later writes of the run must not be kept. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(runId: string, attempt: number) {
    super(`run ${runId}: attempt ${attempt} is no longer the current one`);
  }
}
