import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { postgresTrouble } from './postgres-trouble.js';

const PAUSES = { firstMs: 200, longestMs: 3_000 };
/** Less than probes of a starting program allow. */
const PATIENCE_MS = 120_000;

/**
 * Performs a step of a program's start, again and again while the database is unavailable; the step may be performed
 * twice. The log names what is waited for.
 * @throws what the step threw last, after two minutes or when waiting cannot help
 */
export async function whileAway(
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
  step: () => Promise<void>,
): Promise<void> {
  const backoff = new Backoff(clock, PAUSES);
  const beganMs = clock.monotonicMs();
  for (;;) {
    try {
      return await step();
    } catch (error) {
      const isOver = clock.monotonicMs() - beganMs > PATIENCE_MS;
      if (isOver || postgresTrouble(error) !== 'unavailable') throw error;
      if (backoff.failures === 0)
        log.warn({ problem: errorText(error) }, 'database unavailable; waiting for it');
      await backoff.pause();
    }
  }
}
