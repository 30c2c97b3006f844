import type { Clock } from '#lib/time';
import { isDatabaseAway } from './database-trouble.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Performs a statement again while the database cannot be asked, for at most `patienceMs`. For statements that may be
 * performed twice, since the first answer may just have been lost.
 * @throws what the last try threw
 */
export async function persevere<T>(
  clock: Clock,
  patienceMs: number,
  statement: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonicMs() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await statement();
    } catch (error) {
      if (!isDatabaseAway(error) || clock.monotonicMs() + pauseMs > deadline) throw error;
    }
    await clock.sleep(pauseMs);
  }
}
