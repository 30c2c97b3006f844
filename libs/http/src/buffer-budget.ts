import { PublicError } from '#lib/errors';

/** What one request holds. */
export interface BufferAccount {
  hold(bytes: number): void;
  /** Gives back all but so many bytes. */
  keep(bytes: number): void;
}

/** Keeps what all requests together hold in memory below a limit: above it callers get 429 and send again. */
export class BufferBudget {
  readonly #maxBytes: number;
  #held = 0;

  /** @param refusal what a caller is told when there is no room */
  constructor(
    maxBytes: number,
    private readonly refusal: string,
  ) {
    this.#maxBytes = maxBytes;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * The account of one request.
   * @throws PublicError too_many from `hold` when there is no room. One request alone is always let in.
   */
  open(): BufferAccount {
    let own = 0;
    return {
      hold: (bytes) => {
        if (this.#held > own && this.#held + bytes > this.#maxBytes)
          throw new PublicError('too_many', this.refusal, [], { retryAfterSeconds: 1 });
        this.#held += bytes;
        own += bytes;
      },
      keep: (bytes) => {
        const freed = Math.max(0, own - bytes);
        this.#held -= freed;
        own -= freed;
      },
    };
  }
}
