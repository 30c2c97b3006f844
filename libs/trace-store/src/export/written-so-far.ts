import { type Instant, parseInstant } from '#lib/time';
import type { ExportIntent, ExportProgressRecord } from './export-progress.js';

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
