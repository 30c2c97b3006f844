import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';

/** One that takes longer waits for something else, and holds up nobody. */
const TURN_MS = 2_000;

/**
 * Lets large questions to one process go one after another: each is held as several texts there, and computes in the one
 * loop that judges the requests of everybody. Small ones go between them.
 */
export class LargeTurns {
  #last: Promise<void> = Promise.resolve();

  constructor(private readonly clock: Clock) {}

  /**
   * @param ask is called at its turn, which ends with its answer, when it is aborted, or after two seconds
   * @throws PublicError `unavailable` when it was aborted before its turn
   */
  async perform<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    await before;
    const cancel = this.clock.after(TURN_MS, turn.resolve);
    signal.addEventListener('abort', () => turn.resolve());
    try {
      if (signal.aborted)
        throw new PublicError('unavailable', 'Other large requests are judged first; retry');
      return await ask();
    } finally {
      cancel();
      turn.resolve();
    }
  }
}

/** Whether a JSON value is longer than so many characters, or nearly so, without making its text. */
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
