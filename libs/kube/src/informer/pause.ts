import type { Clock } from '#lib/time';

/** Pauses between attempts of one loop: `firstMs`, doubled each time up to `maxMs`, between half and the whole of it. */
export class Pause {
  readonly #bounds: { readonly firstMs: number; readonly maxMs: number };
  readonly #clock: Clock;
  readonly #random: () => number;
  #ms: number;

  constructor(bounds: { firstMs: number; maxMs: number }, clock: Clock, random: () => number = Math.random) {
    this.#bounds = bounds;
    this.#clock = clock;
    this.#random = random;
    this.#ms = bounds.firstMs;
  }

  /** The longest that the next pause can be. */
  get nextMs(): number {
    return this.#ms;
  }

  /** Whether nothing failed since the last reset. */
  get isFirst(): boolean {
    return this.#ms === this.#bounds.firstMs;
  }

  /** The loop got somewhere: the next pause is short again. */
  reset(): void {
    this.#ms = this.#bounds.firstMs;
  }

  /** Waits; returns early, without an error, when `signal` is aborted. */
  async take(signal: AbortSignal): Promise<void> {
    const ms = this.#ms * (0.5 + 0.5 * this.#random());
    this.#ms = Math.min(this.#bounds.maxMs, this.#ms * 2);
    await this.#clock.sleep(ms, signal).catch(() => undefined);
  }
}
