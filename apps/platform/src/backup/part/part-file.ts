import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  scryptSync,
} from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { readTar, type TarItem, writeTar } from '#lib/tar';
import { errorText } from '#lib/errors';

/** Derivation of a backup's key from its passphrase. Nothing of it is secret. */
export interface KeyRecord {
  readonly kdf: 'scrypt';
  /** Hex. */
  readonly salt: string;
  readonly cost: number;
  readonly blockSize: number;
  /** Hex; tells a wrong passphrase from a damaged part. */
  readonly check: string;
}

/** Hides and proves pieces of parts; without a passphrase they are kept as they are. */
export interface Seal {
  /** Bytes that a piece grows by. */
  readonly overhead: number;
  close(piece: Buffer, index: number): Buffer;
  /** @throws Error when another piece was sealed at this place */
  open(sealed: Buffer, index: number): Buffer;
}

const TAG_BYTES = 16;
const COST = 2 ** 17;
const BLOCK_SIZE = 8;

const PLAIN: Seal = { overhead: 0, close: (piece) => piece, open: (piece) => piece };

/** The key of a backup that is encrypted. */
export class BackupKey {
  readonly record: KeyRecord;
  readonly #key: Buffer;

  private constructor(record: Omit<KeyRecord, 'check'>, passphrase: string) {
    const { salt, cost, blockSize } = record;
    this.#key = scryptSync(passphrase, Buffer.from(salt, 'hex'), 32, {
      N: cost,
      r: blockSize,
      maxmem: 256 * cost * blockSize,
    });
    this.record = { ...record, check: this.prove('check') };
  }

  static make(passphrase: string): BackupKey {
    const salt = randomBytes(16).toString('hex');
    return new BackupKey({ kdf: 'scrypt', salt, cost: COST, blockSize: BLOCK_SIZE }, passphrase);
  }

  /** @throws Error when the passphrase is another */
  static open({ check, ...record }: KeyRecord, passphrase: string): BackupKey {
    if (record.cost > COST * 8 || record.blockSize > BLOCK_SIZE)
      throw new Error(
        'the key of this backup takes more work than any that this program makes; use a newer one',
      );
    const key = new BackupKey(record, passphrase);
    if (key.record.check !== check)
      throw new Error('the passphrase is not that of this backup; name its file with --passphrase-file');
    return key;
  }

  /** Proof of the text, hex; it cannot be made without the key. */
  prove(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }

  /**
   * AES-256-GCM with a key for each part and the place as nonce: a piece of another part, of another place or of
   * another backup does not open. @param id random, new whenever the part is written
   */
  sealOf(part: string, id: string): Seal {
    const key = Buffer.from(hkdfSync('sha256', this.#key, Buffer.from(id, 'hex'), part, 32));
    const nonceOf = (index: number): Buffer => {
      const nonce = Buffer.alloc(12);
      nonce.writeUInt32BE(index, 8);
      return nonce;
    };
    return {
      overhead: TAG_BYTES,
      close(piece, index) {
        const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index));
        return Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
      },
      open(sealed, index) {
        const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index));
        decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
      },
    };
  }
}

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
const PIECE_BYTES = 4 << 20;

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
