import { createHash, randomUUID } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import { errorText } from '#lib/errors';
import type { CompletedUpload, MultipartUpload, ObjectStore } from '#lib/object-store';
import { CopyBinaryReader } from '#lib/postgres';
import { describeSpan, type Logger, metrics, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { formatInstant } from '#lib/time';
import type { ExportCursor, ExportIntent, ExportResource, ExportRows, ExportSource } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import { onlyOrInForce } from './only-or-in-force.js';
import type { FileWriter } from './file-writer.js';
import { contentType, openFileWriter } from './open-file-writer.js';
import type { ProgressJournal, SoFar } from './progress-journal.js';
import { RowBounds } from './row-bounds.js';

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
