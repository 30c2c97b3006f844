import { type Connection, inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant, systemClock } from '#lib/time';
import { filterSql } from '../filter/filter-sql.js';
import { Parameters } from '../query/run-search.js';
import { hourOf, MICROS_PER_HOUR } from '../statistics/run-statistics-table.js';
import { readRunCount } from '../statistics/sum-runs.js';
import { HAS_MARK } from './export-progress-table.js';
import { changedAfter } from './export-query.js';
import type { ExportCount, ExportedWindow, ExportWindow, LateCount, UnknownLate } from './export-source.js';

export interface CountLimits {
  /** Limit of each statement over the runs of the window, in milliseconds. */
  readonly countMs: number;
  /** Limit of each statement over the runs of an hour, and of one over statistics, in milliseconds. */
  readonly hoursMs: number;
  /** Limit of each statement of the sample, in milliseconds. */
  readonly sampleMs: number;
  /** Places of the window that the sample is taken at. */
  readonly places: number;
  /** Rows that are read from each place on. */
  readonly rowsAtPlace: number;
}

const LIMITS: CountLimits = { countMs: 2_000, hoursMs: 2_000, sampleMs: 300, places: 10, rowsAtPlace: 200 };

/** See `ExportCounts`. */
export async function countRows(
  pool: Pool,
  window: ExportWindow,
  limits: Partial<CountLimits> = {},
): Promise<ExportCount> {
  const all = { ...LIMITS, ...limits };
  if (!window.filter) return countWindow(pool, window, all);
  const rows = await orTooLong(() =>
    inLimitedTransaction(pool, { limitMs: all.countMs }, (db) => countFound(db, window)),
  );
  if (rows !== undefined) return { rows, isExact: true };
  const { rows: stored } = await countWindow(pool, window, all);
  return { rows: Math.round(stored * (await sampleShare(pool, window, all))), isExact: false };
}

/** @returns undefined when it took longer than its limit */
async function orTooLong<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TimeLimitError) return undefined;
    throw error;
  }
}

/** All runs of a window: whole hours from the statistics, the rest at both ends from the runs. */
async function countWindow(pool: Pool, window: ExportWindow, limits: CountLimits): Promise<ExportCount> {
  const { tenantId, projectId, startTime, endTime } = window;
  const first = hourOf(startTime + MICROS_PER_HOUR - 1n);
  const last = hourOf(endTime);
  const inHours = (db: Connection, from: Instant, to: Instant): Promise<number> =>
    from < to ? readRunCount(db, tenantId, projectId, { from, to }) : Promise.resolve(0);
  const rows = await orTooLong(() =>
    inLimitedTransaction(pool, { limitMs: limits.hoursMs }, async (db) => {
      if (first >= last) return countFound(db, window);
      const before = await countFound(db, { ...window, endTime: first });
      const after = await countFound(db, { ...window, startTime: last });
      return before + (await inHours(db, first, last)) + after;
    }),
  );
  if (rows !== undefined) return { rows, isExact: true };
  // an hour with millions of runs: the hours that the window begins and ends in count as a whole
  const whole = await inLimitedTransaction(pool, { limitMs: limits.hoursMs }, (db) =>
    inHours(db, hourOf(startTime), hourOf(endTime + MICROS_PER_HOUR - 1n)),
  );
  return { rows: whole, isExact: false };
}

/** Tenant, project and times of a window, on rows of `runs` named `r`. */
function inWindow({ tenantId, projectId, startTime, endTime }: ExportWindow, parameters: Parameters): string {
  return `r.tenant_id = ${parameters.add(tenantId)} AND r.project_id = ${parameters.add(projectId)}
    AND r.start_time >= ${parameters.add(formatInstant(startTime))}::timestamptz
    AND r.start_time < ${parameters.add(formatInstant(endTime))}::timestamptz`;
}

async function countFound(db: Connection, window: ExportWindow): Promise<number> {
  if (window.startTime >= window.endTime) return 0;
  const parameters = new Parameters();
  const condition = `${inWindow(window, parameters)} AND ${filterSql(window, parameters)}`;
  const { rows } = await db.query<{ count: string }>(
    `SELECT count(*) AS count FROM runs r WHERE ${condition}`,
    parameters.values,
  );
  return Number(rows[0]?.count ?? 0);
}

/**
 * The share of runs that meet the filter, of those at places that are evenly spread over the window; 1 when
 * none could be read.
 */
async function sampleShare(
  pool: Pool,
  window: ExportWindow,
  { places, rowsAtPlace, sampleMs }: CountLimits,
): Promise<number> {
  const span = window.endTime - window.startTime;
  let [looked, met] = [0, 0];
  for (let place = 0; place < places; place++) {
    const startTime = window.startTime + (span * BigInt(place)) / BigInt(places);
    const found = await orTooLong(() =>
      inLimitedTransaction(pool, { limitMs: sampleMs }, (db) =>
        countAtPlace(db, { ...window, startTime }, rowsAtPlace),
      ),
    );
    looked += found?.looked ?? 0;
    met += found?.met ?? 0;
  }
  return looked === 0 ? 1 : met / looked;
}

async function countAtPlace(
  db: Connection,
  window: ExportWindow,
  count: number,
): Promise<{ readonly looked: number; readonly met: number }> {
  const parameters = new Parameters();
  const { rows } = await db.query<{ looked: string; met: string }>(
    `SELECT count(*) AS looked, count(*) FILTER (WHERE ${filterSql(window, parameters)}) AS met FROM (
      SELECT r.* FROM runs r WHERE ${inWindow(window, parameters)}
      ORDER BY r.start_time, r.id, r.trace_id LIMIT ${parameters.add(count)}) r`,
    parameters.values,
  );
  return { looked: Number(rows[0]?.looked ?? 0), met: Number(rows[0]?.met ?? 0) };
}

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
