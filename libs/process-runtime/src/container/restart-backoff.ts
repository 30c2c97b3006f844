const FIRST_MS = 1_000;
const MAX_MS = 300_000;

/** Pauses between attempts at a container: 1 s, 2 s, … 5 min; one that ran for five minutes begins anew. */
export class RestartBackoff {
  #nextMs = FIRST_MS;

  /** The pause after an attempt that ran for `ranMs`. */
  after(ranMs: number): number {
    if (ranMs >= MAX_MS) this.#nextMs = FIRST_MS;
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, MAX_MS);
    return pauseMs;
  }
}
