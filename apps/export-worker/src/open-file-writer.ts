import { ParquetWriter } from '#lib/parquet';
import { type BulkExportRunSpec, REASON } from '#lib/resources';
import { TerminalError } from '#lib/errors';
import type { ExportColumn, ExportResource } from '#lib/trace-store';
import { fileColumns, fileMetadata, isWanted, SORTED_BY } from './file-columns.js';
import type { FileSink, FileWriter } from './file-writer.js';
import { JsonLinesWriter } from './json-lines/json-lines-writer.js';

/**
 * Opens the writer of one file.
 * @param columns columns of each tuple, in that order
 * @param fileBytes where the caller ends the file
 * @throws TerminalError for a compression that the format does not have
 */
export function openFileWriter(
  spec: BulkExportRunSpec,
  resource: ExportResource,
  columns: readonly ExportColumn[],
  fileBytes: number,
  sink: FileSink,
): FileWriter {
  const { format, formatVersion, compression, pageBytes } = spec;
  // feedback has all of its columns
  const wanted = resource === 'runs' ? spec.exportFields : undefined;
  switch (format) {
    case 'parquet':
      return new ParquetWriter({
        columns: fileColumns(columns, resource, formatVersion, wanted),
        sortedBy: SORTED_BY,
        metadata: fileMetadata(spec, resource, columns, wanted),
        compression,
        fileBytes,
        sink,
        ...(pageBytes === undefined ? {} : { nearPageBytes: pageBytes, farPageBytes: pageBytes }),
      });
    case 'jsonl':
      if (compression === 'snappy')
        throw new TerminalError(REASON.invalidSpec, 'snappy is a compression of Parquet alone');
      return new JsonLinesWriter({
        columns: columns.flatMap((column, field) =>
          isWanted(column.name, wanted) ? [{ column, field }] : [],
        ),
        codec: compression,
        sink,
      });
    default:
      return format satisfies never;
  }
}

/** Content type of the files, for clients that download one. */
export function contentType({ format, compression }: BulkExportRunSpec): string {
  if (format === 'parquet') return 'application/vnd.apache.parquet';
  // the compression is the file's own: a client must not undo it on the way
  return compression === 'none' ? 'application/x-ndjson' : `application/${compression}`;
}
