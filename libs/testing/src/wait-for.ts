import { patient } from './patience.js';

export interface WaitOptions {
  /** Milliseconds until it gives up, only where the time is the subject of the test; default: a minute, scaled to the machine. */
  readonly timeoutMs?: number;
  /** Milliseconds between two looks; by default 20 at first, then more and more, 200 at most. */
  readonly intervalMs?: number;
  /** Description of the awaited state, for the message of the failure. */
  readonly what?: string;
}

const WAIT_MS = 60_000;
const FIRST_INTERVAL_MS = 20;
const LAST_INTERVAL_MS = 200;

/**
 * Calls `probe` until it neither throws nor answers `undefined`, `null` or `false`, and returns its answer.
 * @throws Error with the last failure as cause when the time is over
 */
export async function waitFor<T>(
  probe: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, undefined | null | false>> {
  const { timeoutMs = patient(WAIT_MS), intervalMs, what = 'the condition' } = options;
  const deadline = performance.now() + timeoutMs;
  let last: unknown = 'it never became true';
  let pauseMs = intervalMs ?? FIRST_INTERVAL_MS;
  for (;;) {
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== null && answer !== false)
        return answer as Exclude<T, undefined | null | false>;
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadline) {
      const detail = last instanceof Error ? last.message : String(last);
      throw new Error(`waited ${timeoutMs} ms for ${what}: ${detail}`, { cause: last });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (intervalMs === undefined) pauseMs = Math.min(LAST_INTERVAL_MS, pauseMs * 1.1);
  }
}
