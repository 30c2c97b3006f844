import { createHash, type Hash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';

/** A finished temporary file: its owner renames it to its place or removes it. */
export interface WrittenFile {
  readonly path: string;
  readonly size: number;
  /** Hex. */
  readonly md5: string;
}

/** The same as `writeNewFile`, with the MD5 that an etag is made of. */
export async function writeFileFrom(
  path: string,
  pieces: AsyncIterable<Buffer>,
  durable: boolean,
): Promise<WrittenFile> {
  const hash = createHash('md5');
  const size = await writeNewFile(path, hashed(pieces, hash), durable);
  return { path, size, md5: hash.digest('hex') };
}

/**
 * Writes a stream to a new file, which is removed when anything fails.
 * @param durable waits until the bytes are on the disk
 * @returns the size in bytes
 */
export async function writeNewFile(
  path: string,
  pieces: AsyncIterable<Buffer>,
  durable: boolean,
): Promise<number> {
  let size = 0;
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      for await (const piece of pieces) {
        await handle.appendFile(piece);
        size += piece.length;
      }
      if (durable) await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return size;
}

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    hash.update(piece);
    yield piece;
  }
}
