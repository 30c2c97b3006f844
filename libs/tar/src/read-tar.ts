import { BLOCK_BYTES, paddingOf, type TarItem } from './tar-entry.js';
import { entryOf, parseHeader, parseRecords } from './tar-header.js';

/** Bytes of a stream, so many at a time. */
class ByteFeed {
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

/** Records are names and notes; a header with more is refused. */
const MAX_RECORDS_BYTES = 4 << 20;

/**
 * The entries of a tar, one after the other: a body that was not read is passed over when the next entry is asked for.
 * The blocks of zeros at the end may be missing, as in what Postgres sends.
 * @throws Error when the stream is no tar, or ends within an entry
 */
export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarItem> {
  const feed = new ByteFeed(source);
  let records: ReadonlyMap<string, string> = new Map();
  for (;;) {
    const block = await feed.take(BLOCK_BYTES);
    if (block.length === 0) return;
    if (block.length < BLOCK_BYTES) throw new Error('the archive ends within a header');
    const header = parseHeader(block);
    if (!header) return feed.drain();
    if (header.type === 'x' || header.type === 'g' || header.type === 'L') {
      if (!(header.bytes <= MAX_RECORDS_BYTES)) throw new Error('a header has too many records');
      const body = await feed.take(header.bytes);
      await feed.take(paddingOf(header.bytes));
      if (header.type === 'x') records = parseRecords(body);
      // GNU tar has a long name as the content of an entry; `git archive` has its commit in a global header
      if (header.type === 'L') records = new Map([['path', body.toString('utf8').replace(/\0+$/, '')]]);
      continue;
    }
    const entry = entryOf(header, records);
    const body = feed.stream(entry.bytes);
    yield { entry, body };
    for await (const piece of body) void piece;
    await feed.take(paddingOf(entry.bytes));
    records = new Map();
  }
}
