import type { Readable } from 'node:stream';
import type { Filter } from '#lib/filter-language';
import type { Instant } from '#lib/time';
import type { ExportColumn } from './export-columns.js';
import type { ExportCursor } from './export-progress.js';

/** Rows of one project whose start time is in a window and that match a filter. */
export interface ExportWindow {
  readonly tenantId: string;
  readonly projectId: string;
  /** Inclusive. */
  readonly startTime: Instant;
  /** Exclusive. */
  readonly endTime: Instant;
  readonly filter?: Filter | undefined;
  /**
   * Mark of a run (`ExportProgressRecord.changedSince`): only rows that came or changed after it are read.
   */
  readonly changedSince?: string | undefined;
}

export interface ExportRead extends ExportWindow {
  /** Cursor after which rows are read. */
  readonly after?: ExportCursor;
  /** Names of `EXPORT_COLUMNS`; all of them when absent. Order does not count; columns of the cursor are added. */
  readonly fields?: readonly string[];
  /**
   * Maximum number of rows; all when absent. It bounds the life of one snapshot; with a filter, which may
   * match no row, each statement also reads a bounded number of rows, and has a snapshot of its own.
   */
  readonly maxRows?: number;
}

/** The rows of an export, as Postgres sends them. */
export interface ExportRows {
  /** The chosen columns in export order; field n of each tuple is column n. */
  readonly columns: readonly ExportColumn[];
  /**
   * The byte stream of `COPY … TO STDOUT (FORMAT binary)`: header, tuples in (start_time, id, trace_id) order, trailer 0xFFFF.
   * It ends without error only with CopyDone, which Postgres sends after the last row, so a cut connection cannot look
   * like the end.
   * Destroying it cancels the query.
   */
  readonly stream: Readable;
}

/** Reading side of an export. */
export interface ExportSource {
  read(read: ExportRead): Promise<ExportRows>;
  /** All columns of the feedback of these runs, in order of the runs' start times, ids of feedback, traces. */
  readFeedback(read: Omit<ExportRead, 'fields'>): Promise<ExportRows>;
  /**
   * Checks that the project still exists. It must be called before the first read and after the last one:
   * rows of a deleted project are removed while they are read.
   * @throws TerminalError when the project was deleted
   */
  checkProject(window: Pick<ExportWindow, 'tenantId' | 'projectId'>): Promise<void>;
}
