import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ParquetWriter } from '#lib/parquet';
import { parquetColumn } from '../src/export/export-columns.js';
import type { ExportCursor } from '../src/export/export-progress.js';
import type { ExportRead, ExportRows, ExportSource } from '../src/export/export-source.js';
import { RowFile } from '../src/export/row-file.js';

type Options = Partial<Omit<ConstructorParameters<typeof ParquetWriter>[0], 'columns' | 'sink'>>;

/** Rows of files as another reader finds them. */
interface ReadFiles {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Bytes that were copied from sealed days. */
  readonly copiedBytes: number;
  /** Rows of each row group. */
  readonly groups: readonly number[];
  readonly files: number;
}

/** Writes one file as an export does, in memory. */
async function writeFile(rows: ExportRows, options: Options, sealed: 'copied' | 'read') {
  const pieces: Buffer[] = [];
  const upload = {
    uploadId: '1',
    write: (bytes: Buffer) => Promise.resolve(void pieces.push(Buffer.from(bytes))),
    complete: () => Promise.resolve({ size: 0, etag: '', isVerified: true }),
    abort: () => Promise.resolve(),
  };
  const file = new RowFile(rows, {
    open: (sink) => {
      const columns = rows.columns.map((column, field) => parquetColumn(column, field, 'v2_beta'));
      const writer = new ParquetWriter({ columns, compression: 'zstd', ...options, sink });
      return { writer, copier: sealed === 'copied' ? writer : undefined };
    },
    startUpload: () => Promise.resolve(upload),
    fileBytes: options.fileBytes ?? Infinity,
    signal: new AbortController().signal,
  });
  try {
    const isEnded = await file.consume();
    if (file.rows === 0) return undefined;
    await file.end();
    const { rows: count, copiedBytes, bounds } = file;
    return { bytes: Buffer.concat(pieces), isEnded, count, copiedBytes, last: bounds.last };
  } finally {
    await file.release();
  }
}

/** Exports a window to as many files as it needs, and reads these. */
export async function exportFiles(
  source: ExportSource,
  read: ExportRead,
  options: Options = {},
  sealed: 'copied' | 'read' = 'copied',
): Promise<ReadFiles> {
  const rows: Record<string, unknown>[] = [];
  const groups: number[] = [];
  let [copiedBytes, files] = [0, 0];
  let after: ExportCursor | undefined;
  for (;;) {
    const part = await source.read(after ? { ...read, after } : read);
    const file = await writeFile(part, options, sealed);
    if (!file) break;
    const bytes = new Uint8Array(file.bytes).buffer;
    rows.push(...(await parquetReadObjects({ file: bytes, compressors })));
    groups.push(...parquetMetadata(bytes).row_groups.map(({ num_rows: count }) => Number(count)));
    copiedBytes += file.copiedBytes;
    files++;
    after = file.last;
    if (file.isEnded && file.count < (read.maxRows ?? Infinity)) break;
  }
  return { rows, copiedBytes, groups, files };
}
