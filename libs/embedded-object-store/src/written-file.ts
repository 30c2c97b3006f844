import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';

const GATHERED_BYTES = 512 << 10;
const COPIED_BYTES = 1 << 20;
/**
 * Maximum number of buffers per write, which every system takes in one call; a slow client sends small ones.
 */
const MAX_GATHERED = 64;

/** A finished temporary file: its owner renames it to its place or removes it. */
export interface WrittenFile {
  readonly path: string;
  readonly size: number;
  /** Hex. */
  readonly md5: string;
}

/** The same as `writeNewFile`, with the MD5 for an etag. */
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
  await fillNewFile(path, durable, async (handle) => {
    for await (const gathered of inLargerPieces(pieces)) size += await append(handle, gathered);
  });
  return size;
}

/**
 * Writes the bytes of files, one after the other, to a new one, which is on the disk then, or removed when anything fails.
 * Through one buffer: streams have a new one for each piece, whose memory costs half as much again as the copy.
 */
export async function joinFiles(path: string, sources: readonly string[]): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(COPIED_BYTES);
  await fillNewFile(path, true, async (handle) => {
    for (const source of sources) await copyInto(handle, source, buffer);
  });
}

async function copyInto(handle: FileHandle, source: string, buffer: Buffer): Promise<void> {
  const from = await open(source, 'r');
  try {
    for (;;) {
      const { bytesRead } = await from.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return;
      await append(handle, [buffer.subarray(0, bytesRead)]);
    }
  } finally {
    await from.close();
  }
}

async function fillNewFile(
  path: string,
  durable: boolean,
  fill: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    const handle = await open(path, 'wx', 0o600);
    try {
      await fill(handle);
      if (durable) await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Joins pieces, since each write is a round trip to another thread: pieces of a socket have 64 KiB. */
async function* inLargerPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<readonly Buffer[]> {
  let gathered: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    gathered.push(piece);
    bytes += piece.length;
    if (bytes < GATHERED_BYTES && gathered.length < MAX_GATHERED) continue;
    yield gathered;
    gathered = [];
    bytes = 0;
  }
  if (gathered.length > 0) yield gathered;
}

/** All of the pieces. @returns their bytes */
async function append(handle: FileHandle, pieces: readonly Buffer[]): Promise<number> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const { bytesWritten } = await handle.writev(pieces);
  // like a disk that fills up: the next write reports the reason
  if (bytesWritten < bytes) await handle.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  return bytes;
}

async function* hashed(source: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of source) {
    hash.update(piece);
    yield piece;
  }
}
