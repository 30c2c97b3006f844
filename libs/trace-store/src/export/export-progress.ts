import { TerminalError } from '#lib/errors';
import { type Instant, parseInstant } from '#lib/time';

/** A finished object and the cursor after its last row. */
export interface FinishedFile {
  readonly file: ExportFile;
  readonly cursor: ExportCursor;
}

/**
 * The object that an intent names, if the store has it: undefined for one that another wrote, or that is not
 * the whole file.
 */
export function finishedFile(
  intent: ExportIntent,
  found: { readonly size: number; readonly etag: string; readonly mark?: string } | undefined,
): FinishedFile | undefined {
  const { resource, part, key, mark, rows, bytes, sha256, upTo, from } = intent;
  if (mark === undefined || rows === undefined || bytes === undefined || !upTo) return undefined;
  if (found?.mark !== mark || found.size !== bytes) return undefined;
  const maxStartTime = parseInstant(upTo.startTime, { zone: 'required' });
  if (maxStartTime === undefined) return undefined;
  const minStartTime = from === undefined ? undefined : parseInstant(from, { zone: 'required' });
  return {
    file: {
      part,
      key,
      rows,
      bytes,
      etag: found.etag,
      maxStartTime,
      ...(resource === undefined ? {} : { resource }),
      ...(sha256 === undefined ? {} : { sha256 }),
      ...(minStartTime === undefined ? {} : { minStartTime }),
    },
    cursor: { startTime: maxStartTime, id: upTo.id, traceId: upTo.traceId },
  };
}

/** Progress of a run, for display. */
export interface WrittenSoFar {
  readonly rows: number;
  readonly bytes: number;
  /** Start time of the newest row; undefined before the first. */
  readonly reached: Instant | undefined;
}

/**
 * Rows and bytes in finished objects and, while an attempt runs, in the one that is being made. The latter is
 * not surely stored: for a run that has ended, take the record's own numbers.
 */
export function writtenSoFar(record: ExportProgressRecord): WrittenSoFar {
  const { rows, bytes, cursor, intent, state } = record;
  const open = state === 'running' && intent ? openFile(intent) : undefined;
  if (!open) return { rows, bytes, reached: cursor?.startTime };
  const reached = parseInstant(open.startTime, { zone: 'required' }) ?? cursor?.startTime;
  // rows are runs
  const more = intent?.resource === 'feedback' ? 0 : open.rows;
  return { rows: rows + more, bytes: bytes + open.bytes, reached };
}

/** A file that is whole but not completed yet has its final numbers instead. */
function openFile({ soFar, rows, bytes, upTo }: ExportIntent): ExportIntent['soFar'] {
  if (rows === undefined || bytes === undefined || !upTo) return soFar;
  return { rows, bytes, startTime: upTo.startTime };
}

/** A write came from an attempt that is no longer the current one; its owner must stop and touch nothing more. */
export class StaleAttemptError extends TerminalError {
  constructor(runUid: string, attempt: number) {
    super(
      'StaleAttempt',
      `attempt ${attempt} of export run ${runUid} is not in force any more; another one has taken over, or the run ended`,
    );
  }
}

/**
 * Position of the export: the last row that is surely in a finished object. All three members together order
 * rows, since one id can occur in two traces.
 */
export interface ExportCursor {
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
}

/** Kinds of rows of an export. A run exports them in this order. */
export type ExportResource = 'runs' | 'feedback';

/** Noted before an upload begins, so that the next attempt knows which object the store may hold. */
export interface ExportIntent {
  /** Resource of its rows; `runs` when absent. */
  readonly resource?: ExportResource;
  readonly part: number;
  readonly key: string;
  readonly uploadId?: string;
  /** Mark of the object: it is recognised by this, and by no size. */
  readonly mark?: string;
  /** Rows and bytes, once the object was written whole but before it was completed. */
  readonly rows?: number;
  readonly bytes?: number;
  /** SHA-256 of the object, hex, with `rows` and `bytes`. */
  readonly sha256?: string;
  /** Cursor after this object's last row, with `rows` and `bytes`. */
  readonly upTo?: { readonly startTime: string; readonly id: string; readonly traceId: string };
  /** Start time of this object's first row, ISO 8601, with `rows` and `bytes`. */
  readonly from?: string;
  /**
   * Part of this object that is written while it is still being made; for display only, nothing is surely
   * stored.
   */
  readonly soFar?: { readonly rows: number; readonly bytes: number; readonly startTime: string };
}

/** A finished object. */
export interface ExportFile {
  /** Resource of its rows; `runs` when absent. */
  readonly resource?: ExportResource;
  readonly part: number;
  readonly key: string;
  readonly rows: number;
  readonly bytes: number;
  readonly etag?: string;
  /** Hex. */
  readonly sha256?: string;
  readonly minStartTime?: Instant;
  readonly maxStartTime?: Instant;
}

/** `held`: no worker may claim it until the controller frees it. */
export type ExportState = 'running' | 'completed' | 'failed' | 'cancelled' | 'held';

/** One row of `export_progress`. */
export interface ExportProgressRecord {
  readonly runUid: string;
  readonly attempt: number;
  readonly state: ExportState;
  /** Resource that is exported at present; the cursor is one of its rows. */
  readonly resource: ExportResource;
  readonly cursor: ExportCursor | undefined;
  /** Runs in finished objects. */
  readonly rows: number;
  readonly feedbackRows: number;
  /** Bytes of all finished objects. */
  readonly bytes: number;
  /** Number of the next part, from 0. */
  readonly part: number;
  readonly intent: ExportIntent | undefined;
  readonly error: string | undefined;
  readonly files: number;
  /** Every row of the window is in finished objects, which it adopted: only the manifest is to be written. */
  readonly isWhole: boolean;
  /** The mark of a run of another export: only rows that came or changed after it are exported. */
  readonly changedSince: string | undefined;
  /** True when it is known which rows it has read, so that rows which came or changed later can be found. */
  readonly hasMark: boolean;
  readonly updatedAt: Date;
}

/** A page of cancelled runs that are not settled. */
export interface UnsettledQuery {
  /** Milliseconds since their row was last written. */
  readonly idleMs: number;
  readonly limit: number;
  /** The run uid that the page before ended with; empty: from the first one on. */
  readonly after: string;
}

/**
 * Progress of export runs. A worker claims once with its attempt number; each of its later writes carries that number
 * and throws `StaleAttemptError` when a newer attempt exists or the run is no longer `running`, so that a worker that
 * was paused or given up can change nothing.
 */
export interface ExportProgress {
  /**
   * Controller: has a run that was never claimed begin with the results of another run, ended and settled:
   * its objects, its cursor, and whether it was complete. Once for a run: repetitions, and runs that have
   * begun, change nothing.
   * @returns false when nothing is known of the other run
   */
  adopt(runUid: string, fromUid: string): Promise<boolean>;
  /**
   * Controller: has a run that was never claimed export the rows alone that came or changed after another
   * run, of the same window, had begun. Once for a run: repetitions change nothing.
   * @returns false when it is unknown which rows the other run has read
   */
  beginLate(runUid: string, ofUid: string): Promise<boolean>;
  /**
   * Takes the run over for this attempt (1, 2, …), keeping cursor, part and intent of the former one.
   * @param exportUid uid of its export, whose cancellation shuts out the attempt
   * @throws StaleAttemptError when this or a newer attempt has claimed already, or the run is completed or cancelled, or
   *   its export was cancelled
   */
  claim(runUid: string, attempt: number, exportUid?: string): Promise<ExportProgressRecord>;
  /** Notes the object that is about to be written, or more about it (upload id, final size). */
  recordIntent(runUid: string, attempt: number, intent: ExportIntent): Promise<void>;
  /** Adds a finished object, moves the cursor and clears the intent, in one statement. */
  completePart(runUid: string, attempt: number, file: ExportFile, cursor: ExportCursor): Promise<void>;
  /** Continues with feedback, from its first row; parts keep their numbers. */
  beginFeedback(runUid: string, attempt: number): Promise<void>;
  /** Drops the intent of an upload that was aborted. */
  clearIntent(runUid: string, attempt: number): Promise<void>;
  finish(runUid: string, attempt: number): Promise<void>;
  /**
   * Finishes the run, except the last run of an export that is not completed: before that is finished, its
   * worker writes the manifest of the whole export.
   * @param runs number of runs of the export
   * @returns false for the last run, which stays as it was
   */
  finishUnlessLast(runUid: string, attempt: number, exportUid: string, runs: number): Promise<boolean>;
  /** Ends the attempt; a newer attempt can still claim. */
  fail(runUid: string, attempt: number, error: string): Promise<void>;
  /**
   * Controller: keeps a run that was never claimed from the worker that has it before it.
   * @returns false when the worker has claimed it, or it cannot be claimed any more
   */
  hold(runUid: string): Promise<boolean>;
  /** Controller: has those of the runs that are held be claimed again. */
  free(runUids: readonly string[]): Promise<void>;
  /** Controller: rejects every attempt permanently. */
  cancel(runUid: string): Promise<void>;
  /** Controller: the run is being deleted. Rejects its attempts, and removes it from its export. */
  leave(runUid: string): Promise<void>;
  /**
   * Rejects every attempt of every run of an export permanently, those that have claimed and those that will.
   * Once this is answered, no attempt adds a file or completes a run. Runs that are completed stay so.
   */
  cancelExport(exportUid: string): Promise<void>;
  /**
   * Controller: records that the objects which the last attempt of a cancelled run left in the store are
   * removed. Drops the intent; adds the object when it is finished in the store and may not be deleted.
   */
  settle(runUid: string, left?: { readonly file: ExportFile; readonly cursor: ExportCursor }): Promise<void>;
  /** Controller: a page of the cancelled runs whose last attempt may have left something in the store, by run uid. */
  unsettled(query: UnsettledQuery): Promise<readonly ExportProgressRecord[]>;
  find(runUid: string): Promise<ExportProgressRecord | undefined>;
  /**
   * Summaries of many runs in one query, by run uid.
   * @param tenantId whose queue it uses; absent: that of the platform's programs
   */
  list(runUids: readonly string[], tenantId?: string): Promise<ReadonlyMap<string, ExportProgressRecord>>;
  /** Finished objects in part order. */
  files(runUid: string): Promise<readonly ExportFile[]>;
  /** Finished objects of all runs of an export, by the times of their rows. */
  filesOfExport(exportUid: string): Promise<readonly ExportFile[]>;
  /** Keys of finished objects of many runs in one query, by run uid, in part order. @param tenantId as of `list` */
  keys(runUids: readonly string[], tenantId?: string): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Removes the progress of these runs; that of archived ones stays. */
  forget(runUids: readonly string[]): Promise<void>;
}
