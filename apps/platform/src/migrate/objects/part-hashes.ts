import { createHash, type Hash } from 'node:crypto';

/** Hashes of an object's bytes, which are the same at a store and before the copy. */
export interface ObjectHashes {
  readonly bytes: number;
  /**
   * ETag that stores give an object that came in parts of this size, or at once where it fits into one part.
   */
  readonly etag: string;
  readonly sha256: string;
}

/** Hashes the bytes of an object as stores do: each part for itself, and then the parts. */
export class PartHashes {
  readonly #partBytes: number;
  readonly #whole = createHash('sha256');
  readonly #parts: Buffer[] = [];
  #part: Hash = createHash('md5');
  #filled = 0;
  #bytes = 0;

  constructor(partBytes: number) {
    this.#partBytes = partBytes;
  }

  add(chunk: Buffer): void {
    this.#whole.update(chunk);
    this.#bytes += chunk.length;
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + this.#partBytes - this.#filled);
      this.#part.update(piece);
      at += piece.length;
      this.#filled += piece.length;
      if (this.#filled === this.#partBytes) this.#endPart();
    }
  }

  finish(): ObjectHashes {
    const isOnePart = this.#bytes <= this.#partBytes;
    if (this.#filled > 0 || this.#parts.length === 0) this.#endPart();
    const etag = isOnePart
      ? (this.#parts[0] ?? Buffer.alloc(0)).toString('hex')
      : `${createHash('md5').update(Buffer.concat(this.#parts)).digest('hex')}-${this.#parts.length}`;
    return { bytes: this.#bytes, etag, sha256: this.#whole.digest('hex') };
  }

  #endPart(): void {
    this.#parts.push(this.#part.digest());
    this.#part = createHash('md5');
    this.#filled = 0;
  }
}
