import type { Clock } from '#lib/time';

const LINES = 20;
const WINDOW_MS = 10_000;

/** Bounds lines of one kind in the log: a sender of ten thousand wrong runs must not push out everything else. */
export class LogShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #endsMs = 0;
  #left = 0;
  #passedOver = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * @returns the number of lines that were dropped since the last one; undefined when this one is dropped,
   * too
   */
  take(): { readonly passedOver: number } | undefined {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#endsMs) [this.#endsMs, this.#left] = [nowMs + WINDOW_MS, LINES];
    if (this.#left === 0) {
      this.#passedOver++;
      return undefined;
    }
    this.#left--;
    const passedOver = this.#passedOver;
    this.#passedOver = 0;
    return { passedOver };
  }
}
