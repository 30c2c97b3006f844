import { PublicError } from '#lib/errors';

/** Keeps what all requests together hold in memory below a limit: above it callers are told to come again. */
export class BufferBudget {
  readonly #maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * The account of one request; `settle` gives everything back.
   * @throws PublicError too_many from `hold` when there is no room. One request alone is always let in.
   */
  open(): { hold(bytes: number): void; release(): void } {
    let own = 0;
    return {
      hold: (bytes) => {
        if (this.#held > own && this.#held + bytes > this.#maxBytes)
          throw new PublicError('too_many', 'Too many traces are arriving at once, try again');
        this.#held += bytes;
        own += bytes;
      },
      release: () => {
        this.#held -= own;
        own = 0;
      },
    };
  }
}
