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
