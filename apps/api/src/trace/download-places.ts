import { PublicError } from '#lib/errors';

/** Each holds a connection to the object store; fewer than a store's client opens, so that none waits for one. */
const MOST = 12;
const MOST_OF_TENANT = 4;
const BUSY = 'Too many attachments are read at once; finish reading others, or try again';

/** How many attachments are read at once: whoever has a URL needs no key. */
export class DownloadPlaces {
  readonly #takenBy = new Map<string, number>();
  #taken = 0;

  /**
   * @returns gives the place back; calling it again does nothing
   * @throws PublicError too_many
   */
  take(tenantId: string): () => void {
    const own = this.#takenBy.get(tenantId) ?? 0;
    if (own >= MOST_OF_TENANT || this.#taken >= MOST)
      throw new PublicError('too_many', BUSY, [], { retryAfterSeconds: 1 });
    this.#change(tenantId, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#change(tenantId, -1);
      isTaken = false;
    };
  }

  #change(tenantId: string, by: 1 | -1): void {
    this.#taken += by;
    const own = (this.#takenBy.get(tenantId) ?? 0) + by;
    if (own > 0) this.#takenBy.set(tenantId, own);
    else this.#takenBy.delete(tenantId);
  }
}
