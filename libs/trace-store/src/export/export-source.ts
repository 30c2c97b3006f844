import type { Readable } from 'node:stream';
import type { Filter } from '#lib/filter-language';
import type { Instant } from '#lib/time';
import type { ExportColumn } from './export-columns.js';
import type { ExportCursor } from './export-progress.js';

/** Number of rows that an export of a window would have. */
export interface ExportCount {
  readonly rows: number;
  /** False when the number was estimated because counting took too long. */
  readonly isExact: boolean;
}

/** The window of a run of an export, by whose mark rows are late. */
export interface ExportedWindow extends ExportWindow {
  readonly runUid: string;
}

/** Rows that came or changed after a run of an export had begun. */
export interface LateCount {
  readonly rows: number;
  /** First of their start times; undefined without rows. */
  readonly first: Instant | undefined;
  readonly last: Instant | undefined;
}

/** Why nothing is known of late rows: counting took too long, or the run has no mark that means anything here. */
export type UnknownLate = 'too long' | 'no mark';

export interface ExportCounts {
  /**
   * Counts late rows of runs of one tenant, within five seconds together, the last ones first.
   * @returns one for each, in their order
   */
  countLate(windows: readonly ExportedWindow[]): Promise<readonly (LateCount | UnknownLate)[]>;
  /**
   * Counts the current runs of a window, within a few seconds: from the statistics by hour, with a filter by
   * reading the runs, and if these are too many for that, from a sample.
   */
  count(window: ExportWindow): Promise<ExportCount>;
}

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
