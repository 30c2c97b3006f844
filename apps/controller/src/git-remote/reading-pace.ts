import type { Clock } from '#lib/time';

/**
 * Limits per second. A megabyte of lines costs 8 to 11 ms of the controller's one thread, and TLS is on top
 * of that: one list takes some 5 % of it, all lists together some 20 %.
 */
const MEGABYTES = { one: 4, all: 16 };
/**
 * Cost of a piece beside its bytes, as some 5 µs are 500 bytes of lines, and four times that to be safe:
 * hosts choose how small pieces are, and 2,700 of one byte fit into one record of TLS.
 */
const PIECE_BYTES = 2_048;
/** Shortest pause; a shorter one is not worth a timer and is made up for after the next piece. */
const SHORTEST_MS = 10;

/**
 * Limits the rate at which lists of refs are read: one list to its share, and all of them together to theirs.
 */
export class ReadingPace {
  readonly #clock: Clock;
  readonly #all = new Debt(MEGABYTES.all);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls back when so much time has passed. */
  after(ms: number, callback: () => void): void {
    this.#clock.after(ms, callback);
  }

  /**
   * Begins to read a list.
   * @returns takes the bytes of a piece that was read, and returns the pause before the next read in ms
   */
  begin(): (bytes: number) => number {
    const own = new Debt(MEGABYTES.one);
    return (bytes) => {
      const now = this.#clock.monotonicMs();
      const paidMs = Math.max(own.add(bytes + PIECE_BYTES, now), this.#all.add(bytes + PIECE_BYTES, now));
      return paidMs - now < SHORTEST_MS ? 0 : paidMs - now;
    };
  }
}

/** Cost of data that was read and is not paid for by time yet. */
class Debt {
  readonly #bytesPerMs: number;
  #paidMs = 0;

  constructor(megabytes: number) {
    this.#bytesPerMs = (megabytes * 1_048_576) / 1000;
  }

  /** @returns when it is paid for, on the monotonic clock */
  add(bytes: number, now: number): number {
    this.#paidMs = Math.max(this.#paidMs, now) + bytes / this.#bytesPerMs;
    return this.#paidMs;
  }
}
