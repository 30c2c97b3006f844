import { createHash, randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { constants, createZstdCompress } from 'node:zlib';
import { type TarItem, writeTar } from '#lib/tar';
import { type BackupKey, PLAIN } from './seal.js';

/** Record of a part in `backup.json`. */
export interface PartRecord {
  /** `databases`, `objects-0001`, … */
  readonly name: string;
  /** Name of its file in the backup. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 of each piece of `PIECE_BYTES` of the stored file, hex. */
  readonly pieces: readonly string[];
  /** Id in hex; a key of its own where the backup is encrypted. */
  readonly id: string;
  readonly entries: number;
  /** Unpacked, without the tar around it. */
  readonly contentBytes: number;
  /** Last object in a part with objects, after which the next part begins. */
  readonly last?: { readonly bucket: string; readonly key: string };
}

/** Size of a piece, before a seal makes it longer. */
export const PIECE_BYTES = 4 << 20;

/** Fast: what is copied is compressed in parts already. */
const LEVEL = 1;

export interface PartRequest {
  /** Folder of the backup. */
  readonly folder: string;
  readonly name: string;
  readonly key: BackupKey | undefined;
  /** Called with the bytes of contents so far. */
  readonly onBytes?: (contentBytes: number) => void;
}

/**
 * Writes a part: a tar, compressed, in pieces that are each sealed and hashed. It has its name once it is on the disk;
 * a part that fails leaves no file.
 */
export async function writePart(request: PartRequest, items: AsyncIterable<TarItem>): Promise<PartRecord> {
  const { folder, name, key, onBytes = () => undefined } = request;
  const file = `${name}.tar.zst${key ? '.sealed' : ''}`;
  const path = join(folder, file);
  const partial = `${path}.partial`;
  const id = randomBytes(16).toString('hex');
  const seal = key?.sealOf(name, id) ?? PLAIN;
  const count = { entries: 0, contentBytes: 0 };
  const pieces: string[] = [];
  let bytes = 0;
  const handle = await open(partial, 'w', 0o600);
  try {
    for await (const piece of inPieces(compressed(writeTar(items, count)))) {
      const sealed = seal.close(piece, pieces.length);
      pieces.push(createHash('sha256').update(sealed).digest('hex'));
      await handle.writeFile(sealed);
      bytes += sealed.length;
      onBytes(count.contentBytes);
    }
    await handle.sync();
    await handle.close();
    await rename(partial, path);
    await syncFolder(folder);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(partial, { force: true });
    throw error;
  }
  return { name, file, bytes, pieces, id, ...count };
}

function compressed(tar: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const parameters = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };
  const zstd = createZstdCompress({ params: parameters, chunkSize: 256 << 10 });
  // an error of either ends the other, and is thrown where the stream is read
  pipeline(Readable.from(tar, { objectMode: false, highWaterMark: 1 << 20 }), zstd, () => undefined);
  return zstd as AsyncIterable<Buffer>;
}

async function* inPieces(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (let chunk of source) {
    while (bytes + chunk.length >= PIECE_BYTES) {
      const fits = PIECE_BYTES - bytes;
      yield Buffer.concat([...waiting, chunk.subarray(0, fits)]);
      chunk = chunk.subarray(fits);
      [waiting, bytes] = [[], 0];
    }
    if (chunk.length === 0) continue;
    waiting.push(chunk);
    bytes += chunk.length;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
