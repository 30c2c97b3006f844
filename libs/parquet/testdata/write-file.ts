import { CopyBinaryReader } from '#lib/postgres';
import type { ParquetColumn } from '../src/column-type.js';
import { ParquetWriter, type ParquetWriterOptions } from '../src/parquet-writer.js';
import { copyBinary, type Value } from './copy-binary-bytes.js';

export type Row = readonly Value[];
export type WantedColumn = Omit<ParquetColumn, 'field'>;

/** The file that the writer makes of these rows when they arrive from Postgres in pieces of that size. */
export async function writeFile(
  columns: readonly WantedColumn[],
  rows: readonly Row[],
  options: Partial<ParquetWriterOptions> = {},
  pieceBytes = 50_000,
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const writer = new ParquetWriter({
    columns: columns.map((column, field) => ({ ...column, field })),
    compression: 'zstd',
    sink: async (bytes) => void pieces.push(Buffer.from(bytes)),
    ...options,
  });
  const reader = new CopyBinaryReader(columns.length);
  const stream = copyBinary(
    columns.map(({ type }) => type),
    rows,
  );
  for (let at = 0; at < stream.length; at += pieceBytes) {
    reader.push(stream.subarray(at, at + pieceBytes));
    while (reader.next()) {
      writer.add(reader);
      if (writer.isBusy) await writer.ready();
    }
  }
  expect(reader.isFinished).toBe(true);
  await writer.end();
  const file = Buffer.concat(pieces);
  expect(writer.bytes).toBe(file.length);
  expect(writer.rows).toBe(rows.length);
  return file;
}
