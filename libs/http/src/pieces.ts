/** A run of pieces that is looked at together. */
const RUN = 1024;
/** Pieces shorter than this on average are put together. */
const SMALL_BYTES = 4096;

/**
 * Bytes that come in pieces. Clients choose how long these are, and a piece of one byte takes hundreds of
 * them in memory: short ones are put together as they come, so that about as much is held as was sent.
 */
export class Pieces {
  readonly #older: Buffer[] = [];
  #recent: Buffer[] = [];
  #recentBytes = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    this.#recentBytes += piece.length;
    this.#recent.push(piece);
    if (this.#recent.length < RUN) return;
    if (this.#recentBytes < RUN * SMALL_BYTES)
      this.#older.push(Buffer.concat(this.#recent, this.#recentBytes));
    else this.#older.push(...this.#recent);
    this.#recent = [];
    this.#recentBytes = 0;
  }

  /** All bytes. If they came in one piece, it is that piece. */
  whole(): Buffer {
    const [only] = this.#recent;
    if (this.#older.length === 0 && this.#recent.length === 1 && only) return only;
    return Buffer.concat([...this.#older, ...this.#recent], this.#length);
  }
}
