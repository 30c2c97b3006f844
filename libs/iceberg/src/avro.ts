import { createHash } from 'node:crypto';

const MAGIC = Buffer.from('Obj\x01', 'latin1');

/** Bytes of values in Avro's binary encoding, one after the other. */
export class AvroWriter {
  readonly #pieces: Buffer[] = [];

  /** An `int` or a `long`: zigzag, seven bits a byte. */
  long(value: number | bigint): this {
    let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
    const bytes: number[] = [];
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    this.#pieces.push(Buffer.from(bytes));
    return this;
  }

  bytes(value: Buffer): this {
    this.long(value.length);
    this.#pieces.push(value);
    return this;
  }

  text(value: string): this {
    return this.bytes(Buffer.from(value));
  }

  boolean(value: boolean): this {
    this.#pieces.push(Buffer.from([value ? 1 : 0]));
    return this;
  }

  /** A union of null and another type. @param put writes the value */
  optional<T>(value: T | undefined, put: (value: T) => void): this {
    if (value === undefined) return this.long(0);
    this.long(1);
    put(value);
    return this;
  }

  /** A block of an array or a map, and its end. */
  list<T>(items: readonly T[], put: (item: T) => void): this {
    if (items.length > 0) this.long(items.length);
    for (const item of items) put(item);
    return this.long(0);
  }

  raw(bytes: Buffer): this {
    this.#pieces.push(bytes);
    return this;
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** Objects of one schema in a file. */
export interface AvroFile {
  readonly schema: object;
  /** Texts of the header besides the schema. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Encoded objects. */
  readonly objects: readonly Buffer[];
  /** Separates blocks: files with the same one can take over each other's blocks. */
  readonly syncOf: string;
  /** Blocks of a former file, see `blocksOf`, which come first. */
  readonly former?: Buffer;
}

/** 16 bytes that no block holds by chance. */
function syncMarker(syncOf: string): Buffer {
  return createHash('md5').update(`sync marker of ${syncOf}`).digest();
}

/** An Avro object container file without compression; the same values make the same bytes. */
export function renderAvroFile({ schema, metadata, objects, syncOf, former }: AvroFile): Buffer {
  const sync = syncMarker(syncOf);
  const header = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...metadata };
  const file = new AvroWriter().raw(MAGIC);
  file.list(Object.entries(header), ([name, value]) => file.text(name).text(value)).raw(sync);
  if (former) file.raw(former);
  if (objects.length > 0) file.long(objects.length).bytes(Buffer.concat(objects)).raw(sync);
  return file.whole();
}

/**
 * The blocks of a file: what follows its header.
 * @throws Error when the file has another sync marker
 */
export function blocksOf(file: Buffer, syncOf: string): Buffer {
  const sync = syncMarker(syncOf);
  const at = file.indexOf(sync);
  if (at < 0 || !file.subarray(0, MAGIC.length).equals(MAGIC))
    throw new Error(`reading an Avro file of ${syncOf} failed: another program wrote it`);
  return file.subarray(at + sync.length);
}
