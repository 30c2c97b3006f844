import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createZstdDecompress } from 'node:zlib';
import { errorText } from '#lib/errors';
import { readTar, type TarItem } from '#lib/tar';
import { PIECE_BYTES, type PartRecord } from './write-part.js';
import { type BackupKey, PLAIN, type Seal } from './seal.js';

/** A part that is not what was written. The message names file and place. */
class DamagedPart extends Error {}

interface Place {
  /** Read and found right. */
  bytes: number;
}

/**
 * The entries of a part. No byte is unpacked before its piece was compared with its checksum, and no more
 * entries and bytes come than the record names.
 * @param onBytes called with the bytes of the file so far
 * @throws DamagedPart
 */
export async function* readPart(
  folder: string,
  record: PartRecord,
  key: BackupKey | undefined,
  onBytes: (bytes: number) => void = () => undefined,
): AsyncGenerator<TarItem> {
  const path = partPath(folder, record);
  const handle = await openPart(path, record);
  const place: Place = { bytes: 0 };
  const count = { entries: 0, contentBytes: 0 };
  try {
    const seal = key?.sealOf(record.name, record.id) ?? PLAIN;
    const pieces = piecesOf(handle, { path, record, seal, place, onBytes });
    for await (const item of readTar(decompressed(pieces))) {
      count.entries++;
      count.contentBytes += item.entry.bytes;
      // before its content: what the record adds up to was compared with the disk
      if (count.entries > record.entries || count.contentBytes > record.contentBytes)
        throw wrongCount(path, record, count, 'at least ');
      yield item;
    }
  } catch (error) {
    if (error instanceof DamagedPart || isOfSystem(error)) throw error;
    throw new DamagedPart(`${path} is damaged before byte ${place.bytes}: ${errorText(error)}`, {
      cause: error,
    });
  } finally {
    await handle.close();
  }
  if (count.entries !== record.entries || count.contentBytes !== record.contentBytes)
    throw wrongCount(path, record, count);
}

function wrongCount(
  path: string,
  expected: Pick<PartRecord, 'entries' | 'contentBytes'>,
  found: Pick<PartRecord, 'entries' | 'contentBytes'>,
  least = '',
): DamagedPart {
  return new DamagedPart(
    `${path} is damaged: found ${least}${found.entries} entries with ${found.contentBytes} bytes, expected ${expected.entries} with ${expected.contentBytes}`,
  );
}

/** True when the file of a part is there with the right checksums; nothing is unpacked. */
export async function isWhole(folder: string, record: PartRecord): Promise<boolean> {
  const path = partPath(folder, record);
  let handle: FileHandle | undefined;
  try {
    handle = await openPart(path, record);
    const place = { bytes: 0 };
    const seal = { ...PLAIN, overhead: overheadOf(record) };
    for await (const piece of piecesOf(handle, { path, record, seal, place, onBytes: () => undefined }))
      void piece;
    return true;
  } catch (error) {
    if (error instanceof DamagedPart) return false;
    throw error;
  } finally {
    await handle?.close();
  }
}

/** @throws DamagedPart for a file elsewhere: one that is no file may never end */
function partPath(folder: string, { file }: PartRecord): string {
  if (basename(file) === file && file !== '..') return join(folder, file);
  throw new DamagedPart(`${JSON.stringify(file)} is no file of the backup ${folder}`);
}

function overheadOf({ file }: PartRecord): number {
  return file.endsWith('.sealed') ? 16 : 0;
}

/** The file system's own failures are no damage of the backup; those of the decompressor have codes of zlib. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}

async function openPart(path: string, { bytes, pieces }: PartRecord): Promise<FileHandle> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new DamagedPart(`${path} does not exist: the backup is incomplete`);
  });
  const { size } = await handle.stat();
  if (size === bytes && pieces.length > 0) return handle;
  await handle.close();
  throw new DamagedPart(
    `${path} has ${size} bytes, expected ${bytes}: ${size < bytes ? 'the file was cut' : 'something was added'}`,
  );
}

async function* piecesOf(
  handle: FileHandle,
  reading: {
    readonly path: string;
    readonly record: PartRecord;
    readonly seal: Seal;
    readonly place: Place;
    readonly onBytes: (bytes: number) => void;
  },
): AsyncGenerator<Buffer> {
  const { path, record, seal, place, onBytes } = reading;
  const most = PIECE_BYTES + seal.overhead;
  for (const [index, expected] of record.pieces.entries()) {
    const length = Math.min(most, record.bytes - place.bytes);
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await handle.read(buffer, 0, length, place.bytes);
    const found = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    if (bytesRead !== length || found !== expected)
      throw new DamagedPart(
        `${path} is damaged between byte ${place.bytes} and byte ${place.bytes + length}: the checksum is another`,
      );
    const piece = opened(seal, buffer, { index, path, at: place.bytes });
    place.bytes += length;
    onBytes(place.bytes);
    yield piece;
  }
}

function opened(seal: Seal, sealed: Buffer, at: { index: number; path: string; at: number }): Buffer {
  try {
    return seal.open(sealed, at.index);
  } catch (cause) {
    throw new DamagedPart(
      `${at.path} is damaged from byte ${at.at}: the piece was not sealed with the key of this backup`,
      { cause },
    );
  }
}

function decompressed(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const zstd = createZstdDecompress({ chunkSize: 256 << 10 });
  pipeline(Readable.from(pieces, { objectMode: false, highWaterMark: PIECE_BYTES }), zstd, () => undefined);
  return zstd as AsyncIterable<Buffer>;
}
