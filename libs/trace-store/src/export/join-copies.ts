import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Signature, flags and length of an extension that Postgres never sends. */
const HEADER_BYTES = 19;
const TRAILER = Buffer.of(0xff, 0xff);

/**
 * The tuples of many `COPY … TO STDOUT (FORMAT binary)` as those of one: one header, one trailer, which is sent once the
 * last of them has ended.
 * @param copies each is asked for when the one before has ended; there is at least one
 */
export function joinCopies(copies: AsyncIterable<Readable>): Readable {
  const joined = new PassThrough();
  void pass(copies, joined).catch((error: unknown) => joined.destroy(error as Error));
  return joined;
}

async function pass(copies: AsyncIterable<Readable>, joined: PassThrough): Promise<void> {
  let isFirst = true;
  for await (const copy of copies) {
    const skipped = isFirst ? 0 : HEADER_BYTES;
    // its connection may break once more after the pipeline has ended
    copy.on('error', () => undefined);
    await pipeline(copy, (chunks: AsyncIterable<Buffer>) => tuples(chunks, skipped), joined, { end: false });
    isFirst = false;
  }
  joined.end(TRAILER);
}

/** All but the first `skipped` bytes and the trailer. */
async function* tuples(chunks: AsyncIterable<Buffer>, skipped: number): AsyncGenerator<Buffer> {
  let left = skipped;
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
    const end = bytes.length - TRAILER.length;
    if (end < 0) held = Buffer.concat([held, bytes]);
    else {
      if (held.length > 0) yield held;
      if (end > 0) yield bytes.subarray(0, end);
      held = bytes.subarray(end);
    }
    if (held.length > TRAILER.length) {
      yield held.subarray(0, held.length - TRAILER.length);
      held = held.subarray(held.length - TRAILER.length);
    }
  }
  if (!held.equals(TRAILER)) throw new Error('reading the rows failed: a COPY ended without its trailer');
}
