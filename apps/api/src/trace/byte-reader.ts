import { Pieces } from '#lib/http';

/** The stream broke its format or a limit. */
export class UnreadableError extends Error {
  /** Type of the problem that the caller reads. */
  readonly type: string = 'multipart_invalid';

  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
    this.name = 'UnreadableError';
  }
}

/**
 * Reads a stream of chunks by length or up to a delimiter, holding no more than the requested bytes and the
 * newest chunk.
 */
export class ByteReader {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #maxBytes: number;
  #rest: Buffer = Buffer.alloc(0);
  #received = 0;

  /** @param maxBytes of the whole stream */
  constructor(stream: AsyncIterable<Buffer>, maxBytes: number) {
    this.#chunks = stream[Symbol.asyncIterator]();
    this.#maxBytes = maxBytes;
  }

  /** Exactly so many bytes. The lengths that clients announce are believed only as far as bytes arrive. */
  async exactly(length: number): Promise<Buffer> {
    const parts = new Pieces();
    while (parts.length < length) {
      if (this.#rest.length === 0 && !(await this.#more()))
        throw new UnreadableError('the body ends too early');
      const part = this.#rest.subarray(0, length - parts.length);
      this.#rest = this.#rest.subarray(part.length);
      parts.add(part);
    }
    return parts.whole();
  }

  /** Everything before the delimiter, which is consumed too. */
  async until(delimiter: Buffer, maxLength: number): Promise<Buffer> {
    const parts = new Pieces();
    for (;;) {
      const at = this.#rest.indexOf(delimiter);
      if (at >= 0) {
        parts.add(this.#rest.subarray(0, at));
        this.#rest = this.#rest.subarray(at + delimiter.length);
        return parts.whole();
      }
      // the delimiter may begin in the last bytes
      const surely = Math.max(0, this.#rest.length - delimiter.length + 1);
      if (surely > 0) parts.add(this.#rest.subarray(0, surely));
      if (parts.length > maxLength)
        throw new UnreadableError(`a part is longer than ${maxLength} bytes`, true);
      const tail = this.#rest.subarray(surely);
      this.#rest = Buffer.alloc(0);
      if (!(await this.#more())) throw new UnreadableError('the body ends too early');
      this.#rest = tail.length === 0 ? this.#rest : Buffer.concat([tail, this.#rest]);
    }
  }

  /** The next so many bytes as they come. To be read to their end. */
  async *next(length: number): AsyncGenerator<Buffer, void, void> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#more()))
        throw new UnreadableError('the body ends too early');
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** Everything before the delimiter as it comes; the delimiter is consumed too. To be read to its end. */
  async *nextUntil(delimiter: Buffer, maxLength: number): AsyncGenerator<Buffer, void, void> {
    for (let length = 0; ;) {
      const at = this.#rest.indexOf(delimiter);
      // the delimiter may begin in the last bytes
      const end = at >= 0 ? at : Math.max(0, this.#rest.length - delimiter.length + 1);
      length += end;
      if (length > maxLength) throw new UnreadableError(`a part is longer than ${maxLength} bytes`, true);
      if (end > 0) yield this.#rest.subarray(0, end);
      if (at >= 0) {
        this.#rest = this.#rest.subarray(at + delimiter.length);
        return;
      }
      const tail = this.#rest.subarray(end);
      if (!(await this.#more())) throw new UnreadableError('the body ends too early');
      if (tail.length > 0) this.#rest = Buffer.concat([tail, this.#rest]);
    }
  }

  /** @throws UnreadableError when something else comes next */
  async expect(bytes: Buffer): Promise<void> {
    if (!(await this.exactly(bytes.length)).equals(bytes))
      throw new UnreadableError('a part does not end where its length says');
  }

  /** Ends the source: nothing more will be read. */
  async end(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #more(): Promise<boolean> {
    const { value, done } = (await this.#chunks.next()) as IteratorResult<Buffer, undefined>;
    if (done) return false;
    this.#received += value.length;
    if (this.#received > this.#maxBytes)
      throw new UnreadableError(`the body is longer than ${this.#maxBytes} bytes`, true);
    this.#rest = value;
    return true;
  }
}

/** The body is not compressed as it says, or takes more than a compressed body may. */
export class EncodingError extends UnreadableError {
  override readonly type = 'encoding_invalid';
}
