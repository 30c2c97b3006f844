const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * The pause after a failed attempt, milliseconds: twice as long after each, an hour at most, give or take a fifth, so
 * that many do not come back at once.
 * @param attempt from 1
 */
export function webhookPauseMs(attempt: number): number {
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 30));
  return pauseMs * (0.8 + 0.4 * Math.random());
}
