import { mayPass } from '#lib/postgres';
import { Backoff, type Clock } from '#lib/time';

/** Time for which a graph waits for an unavailable database: most restarts are over by then. */
export const PATIENCE_MS = 10_000;

const PAUSES = { firstMs: 50, longestMs: 1_000 };

/**
 * Performs a statement again while its failure may pass (`mayPass`), for at most `patienceMs`. For statements
 * that may be performed twice, since the first answer may just have been lost.
 * @throws error of the last try
 */
export async function persevere<T>(
  clock: Clock,
  patienceMs: number,
  statement: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonicMs() + patienceMs;
  const backoff = new Backoff(clock, PAUSES);
  for (;;) {
    const pauseMs = backoff.nextMs();
    try {
      return await statement();
    } catch (error) {
      if (!mayPass(error) || clock.monotonicMs() + pauseMs > deadline) throw error;
    }
    await clock.sleep(pauseMs);
  }
}
