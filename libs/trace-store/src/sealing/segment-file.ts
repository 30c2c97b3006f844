import { ParquetWriter, readUuid } from '#lib/parquet';
import { parquetColumn, SEGMENT_COLUMNS } from '../export/export-columns.js';
import type { ExportCursor } from '../export/export-progress.js';
import type { ExportRows } from '../export/export-source.js';
import { cursorOf } from '../export/row-bounds.js';
import { RowFile, type RowFileParts } from '../export/row-file.js';
import { withIds } from '../export/table-columns.js';
import type { SealedRef } from '../run/sealed-payloads.js';
import type { RunPlace } from '../run/stored-run.js';
import type { WrittenFile, WrittenRow } from './lake-segments.js';

const COLUMNS = SEGMENT_COLUMNS.map((column, field) =>
  withIds('runs', parquetColumn(column, field, 'v2_beta')),
);

const ROW_GROUP_BYTES = 64 << 20;
/** A reader decodes a whole page for one run. */
const PAGE_BYTES = 4 << 20;
/** The least that stores take for a part. */
const PART_BYTES = 5 << 20;
/** Start time, id and trace; segment, ordinal and whether it has those. */
const LEDGER_BYTES = 64;
const ROWS_AT_ONCE = 1_000;
/** Pages of `runs` are filled to three quarters. */
const STRIPES = 4;
/** Rows that are worth a transaction of their own. */
const LEAST_ROWS = 250;

/** Remembers which run each row of a file is of, in 64 bytes. */
class Ledger {
  readonly #pieces: Buffer[] = [];
  #rows = 0;

  add(place: Buffer, former: SealedRef | undefined): void {
    const at = (this.#rows++ % ROWS_AT_ONCE) * LEDGER_BYTES;
    if (at === 0) this.#pieces.push(Buffer.alloc(ROWS_AT_ONCE * LEDGER_BYTES));
    const piece = this.#pieces.at(-1);
    if (!piece) return;
    place.copy(piece, at);
    if (!former) return;
    piece.write(former.segment.replaceAll('-', ''), at + 40, 'hex');
    piece.writeInt32BE(former.ordinal, at + 56);
    piece.writeUInt8(1, at + 60);
  }

  /**
   * Lists of rows for one transaction each. Neighbours are in different ones: runs of one time share a page, which has
   * room for new versions of some of them, and again after each commit, when Postgres removes the old versions.
   */
  *pieces(of: Pick<RunPlace, 'tenantId' | 'projectId'>): Generator<WrittenRow[]> {
    for (let first = 0; first < this.#rows; first += ROWS_AT_ONCE * STRIPES) {
      const length = Math.min(ROWS_AT_ONCE * STRIPES, this.#rows - first);
      const stripes = Math.min(STRIPES, Math.ceil(length / LEAST_ROWS));
      for (let stripe = 0; stripe < stripes; stripe++)
        yield Array.from({ length: Math.ceil((length - stripe) / stripes) }, (_row, n) =>
          this.#row(first + stripe + n * stripes, of),
        );
    }
  }

  #row(ordinal: number, { tenantId, projectId }: Pick<RunPlace, 'tenantId' | 'projectId'>): WrittenRow {
    const at = (ordinal % ROWS_AT_ONCE) * LEDGER_BYTES;
    const piece = this.#pieces[Math.floor(ordinal / ROWS_AT_ONCE)];
    if (!piece) throw new Error(`row ${ordinal} is not of this file`);
    const row = piece.subarray(at, at + LEDGER_BYTES);
    const former =
      row.readUInt8(60) === 1 ? { segment: readUuid(row, 40), ordinal: row.readInt32BE(56) } : undefined;
    return { place: { tenantId, projectId, ...cursorOf(row) }, ordinal, former };
  }
}

/** Dependencies for writing a file. */
export interface SegmentTools extends Omit<RowFileParts, 'open' | 'seen'> {
  readonly metadata: Readonly<Record<string, string>>;
}

/** A file of which every byte is stored, with the run of each row. */
export interface SegmentResult extends WrittenFile {
  readonly last: ExportCursor;
  readonly copiedBytes: number;
  readonly pieces: (of: Pick<RunPlace, 'tenantId' | 'projectId'>) => Iterable<readonly WrittenRow[]>;
}

/**
 * Writes one file of a sealed day from rows of `SEGMENT_COLUMNS`.
 * @returns the file, undefined when there are no rows and so no file; and whether the rows have ended
 */
export async function writeSegment(
  rows: ExportRows,
  { metadata, ...tools }: SegmentTools,
): Promise<{ readonly file: SegmentResult | undefined; readonly isLast: boolean }> {
  const ledger = new Ledger();
  const file = new RowFile(rows, {
    ...tools,
    open: (sink) => {
      const writer = openWriter(sink, tools.fileBytes, metadata);
      return { writer, copier: writer };
    },
    seen: (place, former) => ledger.add(place, former),
  });
  try {
    const isLast = await file.consume();
    if (file.rows === 0) return { file: undefined, isLast };
    const { upload, sha256 } = await file.end();
    await upload.complete();
    const { bytes, copiedBytes } = file;
    const { firstTime, last } = file.bounds;
    const pieces: SegmentResult['pieces'] = (of) => ledger.pieces(of);
    const times = { firstTime, lastTime: last.startTime, last };
    return { file: { rows: file.rows, bytes, copiedBytes, sha256, ...times, pieces }, isLast };
  } finally {
    await file.release().catch(() => undefined);
  }
}

function openWriter(
  sink: (bytes: Buffer) => Promise<void>,
  fileBytes: number,
  metadata: SegmentTools['metadata'],
): ParquetWriter {
  return new ParquetWriter({
    columns: COLUMNS,
    compression: 'zstd',
    sortedBy: ['start_time', 'id', 'trace_id'],
    metadata,
    fileBytes,
    rowGroupBytes: Math.min(ROW_GROUP_BYTES, fileBytes),
    nearPageBytes: PAGE_BYTES,
    farPageBytes: PAGE_BYTES,
    sink,
  });
}

/** Options of the upload of a segment. */
export function uploadOptions(signal: AbortSignal) {
  return {
    contentType: 'application/vnd.apache.parquet',
    partBytes: PART_BYTES,
    onlyIfAbsent: true,
    signal,
  } as const;
}
