import { Backoff, type Clock } from '#lib/time';

const LONGEST_MS = 300_000;

/** Pauses between attempts at a container: 1 s, 2 s, … 5 min; one that ran for five minutes begins anew. */
export class RestartBackoff {
  readonly #backoff: Backoff;

  constructor(clock: Clock) {
    // a kubelet has no jitter either
    this.#backoff = new Backoff(clock, { firstMs: 1_000, longestMs: LONGEST_MS, jitter: 0 });
  }

  /** The pause after an attempt that ran for `ranMs`. */
  after(ranMs: number): number {
    if (ranMs >= LONGEST_MS) this.#backoff.reset();
    return this.#backoff.nextMs();
  }
}
