import { ByteFeed } from './byte-feed.js';
import { BLOCK_BYTES, paddingOf, type TarItem } from './tar-entry.js';
import { entryOf, parseHeader, parseRecords } from './tar-header.js';

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
