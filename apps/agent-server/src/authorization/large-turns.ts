import type { Clock } from '#lib/time';
import { WaitingTurns } from '#lib/turns';

/** One that takes longer waits for something else, and holds up nobody. */
const TURN_MS = 2_000;

/**
 * Lets large questions to one process go one after another: each is held as several texts there, and computes in the one
 * loop that judges the requests of everybody. Small ones go between them. Callers are served in turn, so that one who
 * sends many holds others up by one at a time.
 */
export class LargeTurns {
  readonly #waiting = new WaitingTurns<string>();
  #isTaken = false;

  constructor(private readonly clock: Clock) {}

  /**
   * @param ask is called at its turn, which ends with its answer, when it is aborted, or after two seconds
   * @throws the reason of the signal when it was aborted before its turn
   */
  async perform<T>(caller: string, ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#isTaken) await this.#waiting.wait(caller, signal);
    this.#isTaken = true;
    let hasTurn = true;
    const pass = (): void => {
      if (hasTurn) this.#next();
      hasTurn = false;
    };
    const cancel = this.clock.after(TURN_MS, pass);
    signal.addEventListener('abort', pass, { once: true });
    try {
      signal.throwIfAborted();
      return await ask();
    } finally {
      cancel();
      pass();
    }
  }

  #next(): void {
    const [caller] = this.#waiting.owners();
    this.#isTaken = caller !== undefined && this.#waiting.begin(caller);
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
