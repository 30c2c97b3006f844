import { Admission } from '#lib/admission';
import type { Clock } from '#lib/time';

/** Time after which a question lets the next one start: it waits for something else. */
const TURN_MS = 2_000;

/**
 * Lets large questions to one process proceed one after another: each is held as several texts there, and
 * computes in the one loop that judges all requests. Small ones proceed between them; callers are served
 * round-robin.
 */
export class LargeTurns {
  readonly #admission = new Admission({ capacity: 1 });

  constructor(private readonly clock: Clock) {}

  /**
   * Performs a question after those before it.
   * @param ask is called in its turn, which ends with its answer, when it is aborted, or after two seconds
   * @throws the reason of the signal when it was aborted before its turn
   */
  async perform<T>(caller: string, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const place = await this.#admission.enter(caller, { signal });
    const cancel = this.clock.after(TURN_MS, place.release);
    signal.addEventListener('abort', place.release, { once: true });
    try {
      signal.throwIfAborted();
      return await ask();
    } finally {
      cancel();
      place.release();
    }
  }
}

/**
 * Returns true when a JSON value is longer than so many characters, or nearly so, without making its text.
 */
export function isLongerThan(value: unknown, most: number): boolean {
  let left = most;
  const waiting: unknown[] = [value];
  while (left >= 0 && waiting.length > 0) {
    const one = waiting.pop();
    left -= typeof one === 'string' ? one.length + 2 : 2;
    if (typeof one !== 'object' || one === null) continue;
    if (Array.isArray(one)) {
      if (one.length > left) return true;
      for (const item of one as readonly unknown[]) waiting.push(item);
      continue;
    }
    for (const name in one) {
      left -= name.length + 3;
      if (left < 0) break;
      waiting.push(Reflect.get(one, name));
    }
  }
  return left < 0;
}
