import { PublicError } from '#lib/errors';

/** What one request holds. */
export interface BufferAccount {
  hold(bytes: number): void;
  /** Gives back all but so many bytes. */
  keep(bytes: number): void;
}

/**
 * Keeps what all requests together hold in memory below a limit: above it callers get 429 and send again. No owner holds
 * more than is left for all others, so that one who holds bodies back for minutes does not shut these out: alone it gets
 * half, the next a half of the rest.
 */
export class BufferBudget {
  readonly #maxBytes: number;
  readonly #heldBy = new Map<string, number>();
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
   * @param owner whose request; without one there is no limit but that of all
   * @throws PublicError too_many from `hold` when there is no room. One request alone is always let in.
   */
  open(owner?: string): BufferAccount {
    let own = 0;
    return {
      hold: (bytes) => {
        const ofOwner = owner === undefined ? 0 : (this.#heldBy.get(owner) ?? 0);
        if (this.#held > own && this.#held + ofOwner + bytes > this.#maxBytes)
          throw new PublicError('too_many', this.refusal, [], { retryAfterSeconds: 1 });
        this.#change(owner, bytes);
        own += bytes;
      },
      keep: (bytes) => {
        const freed = Math.max(0, own - bytes);
        this.#change(owner, -freed);
        own -= freed;
      },
    };
  }

  #change(owner: string | undefined, bytes: number): void {
    this.#held += bytes;
    if (owner === undefined) return;
    const held = (this.#heldBy.get(owner) ?? 0) + bytes;
    if (held > 0) this.#heldBy.set(owner, held);
    else this.#heldBy.delete(owner);
  }
}
