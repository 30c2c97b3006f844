/** Bytes of a stream, so many at a time. */
export class ByteFeed {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#pieces = source[Symbol.asyncIterator]();
  }

  /** Returns so many bytes, fewer where the stream ends. */
  async take(bytes: number): Promise<Buffer> {
    const taken: Buffer[] = [];
    for (let left = bytes; left > 0;) {
      const piece = await this.#next(left);
      if (!piece) break;
      taken.push(piece);
      left -= piece.length;
    }
    return taken.length === 1 && taken[0] ? taken[0] : Buffer.concat(taken);
  }

  /** Yields so many bytes, in pieces as they come. @throws Error when the stream ends before */
  async *stream(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      const piece = await this.#next(left);
      if (!piece) throw new Error(`${left} bytes are missing at the end`);
      left -= piece.length;
      yield piece;
    }
  }

  /** Reads the rest, so that the writer comes to an end. */
  async drain(): Promise<void> {
    while (await this.#next(Number.MAX_SAFE_INTEGER));
  }

  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) return undefined;
      this.#rest = value;
    }
    const piece = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }
}
