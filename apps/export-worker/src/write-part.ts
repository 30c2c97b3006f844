import { createHash, randomUUID } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { errorText, TerminalError } from '#lib/errors';
import type { FormatVersion } from '#lib/export-plan';
import { elementId } from '#lib/iceberg';
import type { CompletedUpload, MultipartUpload, ObjectStore } from '#lib/object-store';
import { type ParquetColumn, ParquetWriter, readMicros, readUuid } from '#lib/parquet';
import { CopyBinaryReader, type Tuple } from '#lib/postgres';
import { type BulkExportRunSpec, REASON } from '#lib/resources';
import { describeSpan, type Logger, metrics, withSpan } from '#lib/telemetry';
import { formatInstant, type Instant, systemClock } from '#lib/time';
import type {
  ExportColumn,
  ExportCursor,
  ExportIntent,
  ExportResource,
  ExportRows,
  ExportSource,
} from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import type { FileSink, FileWriter } from './file-writer.js';
import { JsonLinesWriter } from './json-lines/json-lines-writer.js';
import { onlyOrInForce } from './only-or-in-force.js';
import type { ProgressJournal, SoFar } from './progress-journal.js';

/** Remembers the first and the last row of a file. Copies 40 bytes a row; strings would be made for every row and read for two. */
class RowBounds {
  readonly #timeField: number;
  readonly #idField: number;
  readonly #traceField: number;
  /** Start time, id and trace of the last row. */
  readonly #row = Buffer.alloc(40);
  #firstTime: Instant | undefined;

  /**
   *
   * @param fieldOf index in the tuples of the column for each part of the cursor
   */
  constructor(fieldOf: (role: keyof ExportCursor) => number) {
    this.#timeField = fieldOf('startTime');
    this.#idField = fieldOf('id');
    this.#traceField = fieldOf('traceId');
  }

  see({ bytes, offsets }: Tuple): void {
    const time = offsets[this.#timeField] ?? 0;
    const id = offsets[this.#idField] ?? 0;
    bytes.copy(this.#row, 0, time, time + 8);
    const trace = offsets[this.#traceField] ?? 0;
    bytes.copy(this.#row, 8, id, id + 16);
    bytes.copy(this.#row, 24, trace, trace + 16);
    this.#firstTime ??= readMicros(this.#row, 0);
  }

  /** Start time of the first row. */
  get firstTime(): Instant {
    if (this.#firstTime === undefined) throw new Error('no row has been seen');
    return this.#firstTime;
  }

  get last(): ExportCursor {
    return {
      startTime: readMicros(this.#row, 0),
      id: readUuid(this.#row, 8),
      traceId: readUuid(this.#row, 24),
    };
  }
}

/**
 * Names of the columns in the order in which they came: the place is the id of a column in tables, so names are only ever
 * added at the end.
 */
const FIELDS: Readonly<Record<ExportResource, readonly string[]>> = {
  runs: (
    'id tenant_id session_id trace_id parent_run_id parent_run_ids reference_example_id name run_type start_time ' +
    'end_time status is_root dotted_order trace_tier tags total_tokens prompt_tokens completion_tokens total_cost ' +
    'prompt_cost completion_cost first_token_time error feedback_stats events extra inputs outputs'
  ).split(' '),
  feedback: (
    'id tenant_id session_id trace_id run_id start_time key score value comment correction feedback_source ' +
    'feedback_config extra error extend_trace_retention comparative_experiment_id feedback_group_id created_at modified_at'
  ).split(' '),
};

/** Ids of a column in tables; undefined for one that tables do not have. */
export function fieldIds(resource: ExportResource, name: string): ParquetColumn['ids'] {
  const fieldId = FIELDS[resource].indexOf(name) + 1;
  return fieldId === 0 ? undefined : { column: fieldId, element: elementId({ fieldId }) };
}

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
  return columns.flatMap(({ name, fileType, nullable, dictionary, statistics, payload }, field) => {
    if (!isWanted(name, wanted)) return [];
    const ids = fieldIds(resource, name);
    const column = {
      name,
      type: fileType[format],
      nullable,
      field,
      dictionary,
      statistics,
      longPages: payload,
    };
    return [ids ? { ...column, ids } : column];
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
function openFileWriter(
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
  readonly #rows: ExportRows;
  readonly #intent: ExportIntent;
  readonly #reader: CopyBinaryReader;
  readonly #bounds: RowBounds;
  readonly #writer: FileWriter;
  readonly #hash = createHash('sha256');
  readonly #startedMs = systemClock.monotonicMs();
  #starting: Promise<MultipartUpload> | undefined;
  #begin: Promise<MultipartUpload> | undefined;
  #isReleased = false;

  constructor(task: ExportTask, { resource, part }: PartPlace, rows: ExportRows, tools: PartTools) {
    const { columns } = rows;
    this.#task = task;
    this.#tools = tools;
    this.#rows = rows;
    this.#reader = new CopyBinaryReader(columns.length);
    this.#bounds = new RowBounds((role) => columns.findIndex(({ cursor }) => cursor === role));
    // before the key is made: it refuses what the spec cannot ask for
    this.#writer = openFileWriter(task.spec, resource, columns, task.fileBytes, (bytes) => this.#send(bytes));
    this.#intent = { resource, part, key: task.keyOf(resource, part), mark: randomUUID() };
  }

  /** Reads until the window ends or the file is full. @returns true when the window has ended */
  async consume(): Promise<boolean> {
    const { signal } = this.#tools;
    for await (const chunk of addAbortSignal(signal, this.#rows.stream)) {
      this.#reader.push(chunk as Buffer);
      while (this.#reader.next()) {
        this.#bounds.see(this.#reader);
        this.#writer.add(this.#reader);
        if (!this.#writer.isBusy) continue;
        await this.#writer.ready();
        if (this.#writer.bytes >= this.#task.fileBytes) return false;
      }
    }
    if (!this.#reader.isFinished)
      throw new Error('reading the rows failed: the stream ended before its trailer');
    return this.#writer.rows < this.#task.fileRows;
  }

  /** @returns the cursor after the last row; undefined when there were no rows, and so no file */
  async complete(): Promise<ExportCursor | undefined> {
    const { rows } = this.#writer;
    if (rows === 0) return undefined;
    await this.#writer.end();
    const upload = await this.#begun();
    const { bytes } = this.#writer;
    const sha256 = this.#hash.digest('hex');
    const { journal } = this.#tools;
    const { firstTime, last } = this.#bounds;
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
    metrics.exportFileDuration.observe((systemClock.monotonicMs() - this.#startedMs) / 1000);
    describeSpan({ rows, bytes });
    this.#tools.log.info({ key: this.#intent.key, rows, bytes }, 'file written');
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
    this.#isReleased = true;
    this.#rows.stream.destroy();
    this.#writer.close();
    // a writer that still hands bytes on may have just begun the upload
    await this.#begin?.catch(() => undefined);
    try {
      // an upload whose start has not been answered exists in the store all the same
      await (await this.#starting)?.abort();
    } catch (error) {
      this.#tools.log.warn(
        { key: this.#intent.key, error: errorText(error) },
        'aborting the multipart upload failed; its parts stay until the store removes them',
      );
    }
  }

  /** A row group may still be on its way when the file is given up: nothing must begin an upload then. */
  async #send(bytes: Buffer): Promise<void> {
    if (this.#isReleased) throw new Error('the file was given up');
    this.#hash.update(bytes);
    await (await this.#begun()).write(bytes);
  }

  /** The upload begins with the first bytes: a window without rows leaves no trace in the store. */
  #begun(): Promise<MultipartUpload> {
    this.#begin ??= this.#beginUpload();
    return this.#begin;
  }

  async #beginUpload(): Promise<MultipartUpload> {
    const { journal, store, signal } = this.#tools;
    const { key } = this.#intent;
    const soFar = (): SoFar => ({
      rows: this.#writer.rows,
      bytes: this.#writer.bytes,
      startTime: formatInstant(this.#bounds.last.startTime),
    });
    await journal.recordIntent(this.#intent, soFar);
    this.#starting = store.startMultipartUpload(this.#task.bucket, key, {
      contentType: contentType(this.#task.spec),
      partBytes: PART_BYTES,
      onlyIfAbsent: true,
      ...(this.#intent.mark === undefined ? {} : { mark: this.#intent.mark }),
      signal,
    });
    const upload = await this.#starting;
    await journal.recordIntent({ ...this.#intent, uploadId: upload.uploadId }, soFar);
    return upload;
  }
}
