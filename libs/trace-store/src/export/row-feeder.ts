import { type ParquetWriter, readInt64, readUuid } from '#lib/parquet';
import type { Tuple } from '#lib/postgres';
import type { SealedPayloadsOfRows } from './export-source.js';
import type { SealedGroup, SealedGroups, SealedRef } from '../run/sealed-payloads.js';
import type { RunPayloads } from '../run/stored-run.js';

/** Writes one file from tuples of Postgres, in whatever form the file has. */
export interface FileWriter {
  /** Rows added so far. */
  readonly rows: number;
  /** Bytes that the sink has taken. */
  readonly bytes: number;
  /** True when `ready` must be awaited before the next row: until then the tuple's bytes must not change. */
  readonly isBusy: boolean;
  add(row: Tuple): void;
  ready(): Promise<void>;
  /** Finishes the file. The writer is of no use afterwards. */
  end(): Promise<void>;
  /** Frees what a file that is not finished holds outside of the heap. */
  close(): void;
}

/** Takes a file's bytes in order; the buffer is used again once this resolves. */
export type FileSink = (bytes: Buffer) => Promise<void>;

/** An open file. */
export interface OpenFile {
  readonly writer: FileWriter;
  /** The same writer, where row groups of sealed days can be copied. */
  readonly copier?: ParquetWriter | undefined;
}

/** Dependencies for giving rows to a file. */
interface FeederParts extends OpenFile {
  readonly sealed: SealedPayloadsOfRows | undefined;
  /** Number of the field with the segment of a sealed row; the next one has its ordinal. */
  readonly refField: number;
  /** Bytes after which the file ends, see `isFull`. */
  readonly fileBytes: number;
  /** Called for each row in its order. */
  readonly seen: (row: Tuple, ref: SealedRef | undefined) => void;
  /** Called after sealed payloads were read. */
  readonly beat?: (() => Promise<void>) | undefined;
}

/** Rows that wait for sealed ones among them, and their bytes. */
const WAITING_ROWS = 32;
const WAITING_BYTES = 8 << 20;

/** A tuple whose bytes nothing overwrites, with the row of a segment that its payloads are in. */
interface WaitingTuple {
  readonly row: Tuple;
  readonly ref: SealedRef | undefined;
}

/** A row group whose first rows came in a row. */
interface OpenCopy {
  readonly first: SealedRef;
  readonly group: SealedGroup;
  rows: number;
}

/**
 * Gives rows to the writer of a file, and to sealed rows their payloads. A sealed row that a row group begins with begins a
 * row group of the file too. While the rows that follow are those of that row group, only their other columns are written;
 * after the last one the pages of their payloads are copied. If another row comes before, the payloads of the rows so far
 * are read and written behind them. Payloads of all other sealed rows are read a few rows at a time.
 */
export class RowFeeder {
  readonly #parts: FeederParts;
  readonly #groups = new Map<string, SealedGroups>();
  #waiting: WaitingTuple[] = [];
  #waitingBytes = 0;
  #copy: OpenCopy | undefined;

  constructor(parts: FeederParts) {
    this.#parts = parts;
  }

  /** True when the file should end. */
  get isFull(): boolean {
    return this.#parts.writer.bytes >= this.#parts.fileBytes;
  }

  /**
   * Adds a row, whose bytes must not change until the result resolves. A row that a row group is to be copied for is left
   * out of a file that is full then.
   * @returns undefined when there is nothing to wait for, and the file is not full
   */
  add(row: Tuple): Promise<void> | undefined {
    const { sealed, refField } = this.#parts;
    if (!sealed) return this.#write(row, undefined);
    const ref = refOf(row, refField);
    const copy = this.#copy;
    if (copy && ref && isNext(copy, ref)) return this.#copyRow(copy, row, ref);
    if (!ref && !copy && this.#waiting.length === 0) return this.#write(row, undefined);
    return this.#addSlowly(sealed, row, ref);
  }

  /** Writes all rows that were added. */
  async finish(): Promise<void> {
    const { sealed } = this.#parts;
    if (!sealed) return;
    await this.#giveUpCopy(sealed);
    await this.#flush(sealed);
  }

  /** Rows keep their order: those behind a sealed one wait with it for its payloads. */
  async #addSlowly(sealed: SealedPayloadsOfRows, row: Tuple, ref: SealedRef | undefined): Promise<void> {
    await this.#giveUpCopy(sealed);
    const group = ref && (await this.#groupAt(sealed, ref));
    if (group) return this.#beginCopy(sealed, group, row, ref);
    if (!ref && this.#waiting.length === 0) return this.#write(row, undefined);
    const copy = copyOf(row);
    this.#waiting.push({ row: copy, ref });
    this.#waitingBytes += copy.bytes.length;
    if (this.#waiting.length >= WAITING_ROWS || this.#waitingBytes >= WAITING_BYTES)
      await this.#flush(sealed);
  }

  async #groupAt(
    sealed: SealedPayloadsOfRows,
    { segment, ordinal }: SealedRef,
  ): Promise<SealedGroup | undefined> {
    if (!this.#parts.copier) return undefined;
    let groups = this.#groups.get(segment);
    if (!groups) this.#groups.set(segment, (groups = await sealed.groups(segment)));
    return groups(ordinal);
  }

  async #beginCopy(
    sealed: SealedPayloadsOfRows,
    group: SealedGroup,
    row: Tuple,
    first: SealedRef,
  ): Promise<void> {
    await this.#flush(sealed);
    await this.#parts.copier?.beginCopy([...group.chunks.keys()]);
    if (this.isFull) return;
    this.#copy = { first, group, rows: 0 };
    await this.#copyRow(this.#copy, row, first);
  }

  #copyRow(copy: OpenCopy, row: Tuple, ref: SealedRef): Promise<void> | undefined {
    const added = this.#write(row, ref);
    copy.rows++;
    return copy.rows === copy.group.rows ? this.#endCopy(copy, added) : added;
  }

  async #endCopy({ group }: OpenCopy, added: Promise<void> | undefined): Promise<void> {
    await added;
    this.#copy = undefined;
    await this.#parts.copier?.endCopy(group.chunks);
  }

  /** Writes the payloads of the rows of a row group that is not whole. */
  async #giveUpCopy(sealed: SealedPayloadsOfRows): Promise<void> {
    const { copier, refField, beat } = this.#parts;
    const copy = this.#copy;
    if (!copy || !copier) return;
    this.#copy = undefined;
    const { segment, ordinal } = copy.first;
    for (let from = 0; from < copy.rows; from += WAITING_ROWS) {
      const count = Math.min(WAITING_ROWS, copy.rows - from);
      const refs = Array.from({ length: count }, (_, n) => ({ segment, ordinal: ordinal + from + n }));
      for (const payloads of await sealed.read(refs)) {
        copier.addCopied(withPayloads(emptyTuple(refField), sealed, payloads));
        if (copier.isBusy) await copier.ready();
      }
      await beat?.();
    }
  }

  async #flush(sealed: SealedPayloadsOfRows): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (waiting.length === 0) return;
    const payloads = await sealed.read(waiting.flatMap(({ ref }) => ref ?? []));
    let next = 0;
    for (const { row, ref } of waiting)
      await this.#write(ref ? withPayloads(row, sealed, payloads[next++] ?? {}) : row, ref);
    await this.#parts.beat?.();
  }

  #write(row: Tuple, ref: SealedRef | undefined): Promise<void> | undefined {
    const { writer, seen } = this.#parts;
    seen(row, ref);
    writer.add(row);
    return writer.isBusy ? writer.ready() : undefined;
  }
}

function isNext({ first, rows }: OpenCopy, { segment, ordinal }: SealedRef): boolean {
  return ordinal === first.ordinal + rows && segment === first.segment;
}

function refOf({ bytes, offsets, lengths }: Tuple, field: number): SealedRef | undefined {
  if ((lengths[field] ?? -1) < 0) return undefined;
  return {
    segment: readUuid(bytes, offsets[field] ?? 0),
    ordinal: Number(readInt64(bytes, offsets[field + 1] ?? 0)),
  };
}

function emptyTuple(fields: number): Tuple {
  return {
    bytes: Buffer.alloc(0),
    offsets: new Int32Array(fields),
    lengths: new Int32Array(fields).fill(-1),
  };
}

function copyOf(row: Tuple): Tuple {
  return withFields(row, () => undefined);
}

function withPayloads(row: Tuple, { fields }: SealedPayloadsOfRows, payloads: RunPayloads): Tuple {
  const byField = new Map(fields.map(([name, field]) => [field, payloads[name]]));
  return withFields(row, (field) => byField.get(field));
}

/** A tuple of its own, with these values instead of some fields. */
function withFields(
  { bytes, offsets, lengths }: Tuple,
  valueOf: (field: number) => Buffer | undefined,
): Tuple {
  const values = Array.from(offsets, (offset, field) => {
    const length = lengths[field] ?? -1;
    return valueOf(field) ?? (length < 0 ? undefined : bytes.subarray(offset, offset + length));
  });
  let at = 0;
  return {
    bytes: Buffer.concat(values.flatMap((value) => value ?? [])),
    offsets: Int32Array.from(values, (value) => (at += value?.length ?? 0) - (value?.length ?? 0)),
    lengths: Int32Array.from(values, (value) => value?.length ?? -1),
  };
}
