import { randomUUID } from 'node:crypto';
import { errorText, TerminalError } from '#lib/errors';
import type { FormatVersion } from '#lib/export-plan';
import type { CompletedUpload, MultipartUpload, ObjectStore } from '#lib/object-store';
import { type ParquetColumn, ParquetWriter } from '#lib/parquet';
import { type BulkExportRunSpec, REASON } from '#lib/resources';
import { describeSpan, type Logger, metrics, withSpan } from '#lib/telemetry';
import { formatInstant, systemClock } from '#lib/time';
import {
  type ExportColumn,
  type ExportCursor,
  type ExportIntent,
  type ExportResource,
  type ExportRows,
  type ExportSource,
  type FileSink,
  type OpenFile,
  parquetColumn,
  RowFile,
  withIds,
} from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import { JsonLinesWriter } from './json-lines/json-lines-writer.js';
import { onlyOrInForce } from './only-or-in-force.js';
import type { ProgressJournal, SoFar } from './progress-journal.js';

/**
 * Columns of a file, in the one order that every export has.
 * @param columns columns of each tuple, in that order
 * @param wanted names of the columns to write; all when absent
 */
function fileColumns(
  columns: readonly ExportColumn[],
  resource: ExportResource,
  format: FormatVersion,
  wanted: readonly string[] | undefined,
): readonly ParquetColumn[] {
  return columns.flatMap((each, field) => {
    if (!isWanted(each.name, wanted)) return [];
    return [withIds(resource, parquetColumn(each, field, format))];
  });
}

/** True when a column is written; those of the cursor are read for every export. */
export function isWanted(name: string, wanted: readonly string[] | undefined): boolean {
  return wanted?.includes(name) ?? true;
}

/** The order in which rows are read. */
const SORTED_BY: readonly string[] = Object.freeze(['start_time', 'id', 'trace_id']);

/**
 * Metadata of a file beside its rows: the export, the window, and the columns that hold JSON, whose type is
 * that of text because some readers refuse more.
 */
function fileMetadata(
  spec: BulkExportRunSpec,
  resource: ExportResource,
  columns: readonly ExportColumn[],
  wanted: readonly string[] | undefined,
): Readonly<Record<string, string>> {
  const json = columns.filter(({ name, isJson }) => isJson && isWanted(name, wanted));
  return {
    'agentplane.export_id': spec.exportId,
    'agentplane.tenant_id': spec.tenantId,
    'agentplane.session_id': spec.projectId,
    'agentplane.resource': resource,
    'agentplane.start_time': spec.startTime,
    'agentplane.end_time': spec.endTime,
    'agentplane.format_version': spec.formatVersion,
    'agentplane.json_columns': json.map(({ name }) => name).join(','),
  };
}

/**
 * Opens the writer of one file.
 * @param columns columns of each tuple, in that order
 * @param fileBytes where the caller ends the file
 * @throws TerminalError for a compression that the format does not have
 */
function openFile(
  spec: BulkExportRunSpec,
  resource: ExportResource,
  columns: readonly ExportColumn[],
  fileBytes: number,
  sink: FileSink,
): OpenFile {
  const { format, formatVersion, compression, pageBytes } = spec;
  // feedback has all of its columns
  const wanted = resource === 'runs' ? spec.exportFields : undefined;
  switch (format) {
    case 'parquet': {
      const writer = new ParquetWriter({
        columns: fileColumns(columns, resource, formatVersion, wanted),
        sortedBy: SORTED_BY,
        metadata: fileMetadata(spec, resource, columns, wanted),
        compression,
        fileBytes,
        sink,
        ...(pageBytes === undefined ? {} : { nearPageBytes: pageBytes, farPageBytes: pageBytes }),
      });
      // pages of sealed days are as they are
      return { writer, copier: compression === 'zstd' && pageBytes === undefined ? writer : undefined };
    }
    case 'jsonl':
      if (compression === 'snappy')
        throw new TerminalError(REASON.invalidSpec, 'snappy is a compression of Parquet alone');
      return {
        writer: new JsonLinesWriter({
          columns: columns.flatMap((column, field) =>
            isWanted(column.name, wanted) ? [{ column, field }] : [],
          ),
          codec: compression,
          sink,
        }),
      };
    default:
      return format satisfies never;
  }
}

/** Content type of the files, for clients that download one. */
function contentType({ format, compression }: BulkExportRunSpec): string {
  if (format === 'parquet') return 'application/vnd.apache.parquet';
  // the compression is the file's own: a client must not undo it on the way
  return compression === 'none' ? 'application/x-ndjson' : `application/${compression}`;
}

/** The least that stores take: three buffers of this size are held, two on the wire and one that fills. */
const PART_BYTES = 5 << 20;

/** Dependencies for writing files. */
export interface PartTools {
  readonly source: ExportSource;
  readonly store: ObjectStore;
  readonly journal: ProgressJournal;
  readonly log: Logger;
  /** Aborted when the attempt must stop. */
  readonly signal: AbortSignal;
}

/** Identity of a file of a run. */
export interface PartPlace {
  readonly resource: ExportResource;
  /** Number from 0; files of feedback are numbered after those of runs. */
  readonly part: number;
}

/**
 * Writes the next file, of runs or of feedback: rows after `after` in order of (start_time, id, trace_id),
 * until the window ends or the file is large enough. Noted before, during and after, so that the next attempt
 * knows which objects may be in the store.
 * @returns the cursor after the file's last row and true when the window has ended; no cursor without rows
 */
export async function writePart(
  task: ExportTask,
  place: PartPlace,
  after: ExportCursor | undefined,
  tools: PartTools,
): Promise<{ cursor: ExportCursor | undefined; isLast: boolean }> {
  const { exportFields } = task.spec;
  const read = { ...task.window, maxRows: task.fileRows, ...(after ? { after } : {}) };
  const rows =
    place.resource === 'runs'
      ? await tools.source.read({ ...read, ...(exportFields ? { fields: exportFields } : {}) })
      : await tools.source.readFeedback(read);
  const making = begin(task, place, rows, tools);
  try {
    return await withSpan('export part', { part: place.part }, async () => {
      const isLast = await making.consume();
      return { cursor: await making.complete(), isLast };
    });
  } catch (error) {
    // a failure after the abort is a consequence of it
    tools.signal.throwIfAborted();
    throw error;
  } finally {
    await making.release();
  }
}

/** Begins a part. On failure it closes the rows: rows without a reader would hold their connection. */
function begin(task: ExportTask, place: PartPlace, rows: ExportRows, tools: PartTools): PartInTheMaking {
  try {
    return new PartInTheMaking(task, place, rows, tools);
  } catch (error) {
    rows.stream.destroy();
    throw error;
  }
}

class PartInTheMaking {
  readonly #task: ExportTask;
  readonly #tools: PartTools;
  readonly #intent: ExportIntent;
  readonly #file: RowFile;
  readonly #startedMs = systemClock.monotonicMs();

  constructor(task: ExportTask, { resource, part }: PartPlace, rows: ExportRows, tools: PartTools) {
    this.#task = task;
    this.#tools = tools;
    const { fileBytes } = task;
    // before the key is made: it refuses what the spec cannot ask for
    this.#file = new RowFile(rows, {
      open: (sink) => openFile(task.spec, resource, rows.columns, fileBytes, sink),
      startUpload: () => this.#startUpload(),
      fileBytes,
      signal: tools.signal,
    });
    this.#intent = { resource, part, key: task.keyOf(resource, part), mark: randomUUID() };
  }

  /** Reads until the window ends or the file is full. @returns true when the window has ended */
  async consume(): Promise<boolean> {
    return (await this.#file.consume()) && this.#file.rows < this.#task.fileRows;
  }

  /** @returns the cursor after the last row; undefined when there were no rows, and so no file */
  async complete(): Promise<ExportCursor | undefined> {
    const { rows } = this.#file;
    if (rows === 0) return undefined;
    const { upload, sha256 } = await this.#file.end();
    const { bytes, copiedBytes } = this.#file;
    const { journal } = this.#tools;
    const { firstTime, last } = this.#file.bounds;
    await journal.recordIntent({
      ...this.#intent,
      uploadId: upload.uploadId,
      rows,
      bytes,
      sha256,
      from: formatInstant(firstTime),
      upTo: { ...last, startTime: formatInstant(last.startTime) },
    });
    const { etag, isVerified } = await this.#completeUpload(upload);
    if (!isVerified)
      this.#tools.log.info(
        { key: this.#intent.key, bytes },
        'size and mark of the stored file were not verified: the destination refuses to read it, or keeps no marks',
      );
    const times = { minStartTime: firstTime, maxStartTime: last.startTime };
    await journal.completePart({ ...this.#intent, rows, bytes, sha256, etag, ...times }, last);
    metrics.exportAttemptRows.add(rows);
    metrics.exportAttemptBytes.add(bytes);
    metrics.exportAttemptCopiedBytes.add(copiedBytes);
    metrics.exportFileDuration.observe((systemClock.monotonicMs() - this.#startedMs) / 1000);
    describeSpan({ rows, bytes, copiedBytes });
    this.#tools.log.info({ key: this.#intent.key, rows, bytes, copiedBytes }, 'file written');
    return last;
  }

  /**
   * The key should be free. An object there came from a former attempt: it could not be adopted, or its upload could not
   * be aborted and completed late. It is replaced, by the attempt that is in force and by no other.
   */
  async #completeUpload(upload: MultipartUpload): Promise<CompletedUpload> {
    const { journal, log } = this.#tools;
    return onlyOrInForce(
      () => upload.complete(),
      () => upload.complete({ replace: true }),
      () => {
        log.warn({ key: this.#intent.key }, 'replacing the object of a former attempt');
        return journal.confirm();
      },
    );
  }

  /** Frees the query and, unless it was completed, the upload. */
  async release(): Promise<void> {
    await this.#file.release().catch((error: unknown) => this.#warnOfParts(error));
  }

  #warnOfParts(error: unknown): void {
    this.#tools.log.warn(
      { key: this.#intent.key, error: errorText(error) },
      'aborting the multipart upload failed; its parts stay until the store removes them',
    );
  }

  async #startUpload(): Promise<MultipartUpload> {
    const { journal, store, signal } = this.#tools;
    const { key } = this.#intent;
    const soFar = (): SoFar => ({
      rows: this.#file.rows,
      bytes: this.#file.bytes,
      startTime: formatInstant(this.#file.bounds.last.startTime),
    });
    await journal.recordIntent(this.#intent, soFar);
    const upload = await store.startMultipartUpload(this.#task.bucket, key, {
      contentType: contentType(this.#task.spec),
      partBytes: PART_BYTES,
      onlyIfAbsent: true,
      ...(this.#intent.mark === undefined ? {} : { mark: this.#intent.mark }),
      signal,
    });
    try {
      await journal.recordIntent({ ...this.#intent, uploadId: upload.uploadId }, soFar);
      return upload;
    } catch (error) {
      await upload.abort().catch((failure: unknown) => this.#warnOfParts(failure));
      throw error;
    }
  }
}
