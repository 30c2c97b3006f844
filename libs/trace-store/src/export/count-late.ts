import { inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { parseInstant, systemClock } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { Parameters } from '../query/run-conditions.js';
import { inWindow } from './count-rows.js';
import type { ExportedWindow, LateCount, UnknownLate } from './export-counts.js';
import { HAS_MARK } from './export-progress-table.js';
import { changedAfter } from './export-query.js';

/** Time limit for all windows together. */
const LIMIT_MS = 5_000;

/** See `ExportCounts.countLate`. */
export async function countLate(
  pool: Pool,
  windows: readonly ExportedWindow[],
  limitMs = LIMIT_MS,
): Promise<readonly (LateCount | UnknownLate)[]> {
  const marked = await findMarked(pool, windows);
  const endMs = systemClock.monotonicMs() + limitMs;
  const counts: (LateCount | UnknownLate)[] = windows.map(() => 'no mark');
  // rows come late to the newest days first of all
  for (const [at, window] of [...windows.entries()].reverse()) {
    if (!marked.has(window.runUid)) continue;
    const leftMs = Math.floor(endMs - systemClock.monotonicMs());
    counts[at] = leftMs > 0 ? await countWithin(pool, window, leftMs) : 'too long';
  }
  return counts;
}

async function findMarked(pool: Pool, windows: readonly ExportedWindow[]): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ run_uid: string }>(
    `SELECT run_uid FROM export_progress WHERE run_uid = ANY($1) AND ${HAS_MARK}`,
    [windows.map(({ runUid }) => runUid)],
  );
  return new Set(rows.map(({ run_uid }) => run_uid));
}

async function countWithin(
  pool: Pool,
  window: ExportedWindow,
  limitMs: number,
): Promise<LateCount | 'too long'> {
  const parameters = new Parameters();
  const mark = `(SELECT read_from FROM export_progress WHERE run_uid = ${parameters.add(window.runUid)})`;
  const text = `SELECT count(*) AS rows, min(r.start_time) AS first, max(r.start_time) AS last FROM runs r
    WHERE ${inWindow(window, parameters)} AND ${changedAfter(mark)} AND ${filterSql(window, parameters)}`;
  try {
    const { rows } = await inLimitedTransaction(pool, { limitMs }, (db) =>
      db.query<Readonly<Record<string, string | null>>>({
        text,
        types: textTypes,
        values: parameters.values,
      }),
    );
    const { rows: count, first, last } = rows[0] ?? {};
    return { rows: Number(count ?? 0), first: time(first), last: time(last) };
  } catch (error) {
    if (error instanceof TimeLimitError) return 'too long';
    throw error;
  }
}

function time(text: string | null | undefined) {
  return text === null || text === undefined ? undefined : parseInstant(text, { zone: 'optional' });
}
