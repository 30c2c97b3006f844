import { type Connection, inLimitedTransaction, type Pool, textTypes, TimeLimitError } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant, systemClock } from '#lib/time';
import { filterSql, sealedPlacesSql } from '../filter/filter-sql.js';
import { lightFilters, payloadsOf } from '../filter/payload-filters.js';
import { SEALED_READ, type SealedLoader, TooMuchSealedError } from '../lake/sealed-loader.js';
import { Parameters } from '../query/run-search.js';
import { hourOf, MICROS_PER_HOUR } from '../statistics/run-statistics-table.js';
import { readRunCount } from '../statistics/sum-runs.js';
import { HAS_MARK } from './export-progress-table.js';
import {
  changedAfter,
  type ExportCount,
  type ExportedWindow,
  type ExportWindow,
  type LateCount,
  type UnknownLate,
} from './export-source.js';

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

/** The loader of payloads of sealed runs; undefined when no day is ever sealed. */
type Sealed = SealedLoader | undefined;

const LIMITS: CountLimits = { countMs: 2_000, hoursMs: 2_000, sampleMs: 300, places: 10, rowsAtPlace: 200 };

/** See `ExportCounts`. */
export async function countRows(
  pool: Pool,
  window: ExportWindow,
  limits: Partial<CountLimits> = {},
  sealed?: Sealed,
): Promise<ExportCount> {
  const all = { ...LIMITS, ...limits };
  if (!window.filter) return countWindow(pool, window, all);
  const rows = await orTooLong(() =>
    inTransactionOf(pool, all.countMs, sealed, window, (db) => countFound(db, window, sealed)),
  );
  if (rows !== undefined) return { rows, isExact: true };
  const { rows: stored } = await countWindow(pool, { ...window, filter: undefined }, all);
  return { rows: Math.round(stored * (await sampleShare(pool, window, all, sealed))), isExact: false };
}

/** A transaction in which runs that meet the filter of a window are found. */
function inTransactionOf<T>(
  pool: Pool,
  limitMs: number,
  sealed: Sealed,
  window: ExportWindow,
  work: (db: Connection) => Promise<T>,
): Promise<T> {
  const mode = sealed && payloadsOf(window).length > 0 ? SEALED_READ : {};
  return inLimitedTransaction(pool, { limitMs, ...mode }, work);
}

/**
 * Parameters of a statement that finds the runs of a window; what is sealed of these is loaded.
 * @param end behind the conditions on the runs `r` that the statement looks at
 */
async function prepare(
  db: Connection,
  sealed: Sealed,
  window: ExportWindow,
  more: (parameters: Parameters) => { readonly condition?: string; readonly end?: string } = () => ({}),
): Promise<Parameters> {
  const fields = payloadsOf(window);
  if (!sealed || fields.length === 0) return new Parameters();
  const parameters = new Parameters();
  const rowsOf = (columns: string, condition: string): string => {
    const { condition: own = 'TRUE', end = '' } = more(parameters);
    const light = filterSql(lightFilters(window), parameters);
    return `SELECT ${columns} FROM (SELECT r.* FROM runs r WHERE ${inWindow(window, parameters)} AND ${own} ${end}) r
      WHERE ${light} AND ${condition}`;
  };
  const { tenantId, projectId } = window;
  const text = sealedPlacesSql(window, rowsOf, parameters);
  const places = { tenantId, projectIds: [projectId], fields, text, values: parameters.values };
  return new Parameters(await sealed.prepare(db, places));
}

/** @returns undefined when it took longer than its limit, or reads more sealed payloads than one statement can */
async function orTooLong<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TimeLimitError || error instanceof TooMuchSealedError) return undefined;
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

async function countFound(db: Connection, window: ExportWindow, sealed?: Sealed): Promise<number> {
  if (window.startTime >= window.endTime) return 0;
  const parameters = await prepare(db, sealed, window);
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
  sealed: Sealed,
): Promise<number> {
  const span = window.endTime - window.startTime;
  let [looked, met] = [0, 0];
  for (let place = 0; place < places; place++) {
    const startTime = window.startTime + (span * BigInt(place)) / BigInt(places);
    const from = { ...window, startTime };
    const found = await orTooLong(() =>
      inTransactionOf(pool, sampleMs, sealed, from, (db) => countAtPlace(db, from, rowsAtPlace, sealed)),
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
  sealed: Sealed,
): Promise<{ readonly looked: number; readonly met: number }> {
  const end = 'ORDER BY r.start_time, r.id, r.trace_id LIMIT';
  const parameters = await prepare(db, sealed, window, (own) => ({ end: `${end} ${own.add(count)}` }));
  const { rows } = await db.query<{ looked: string; met: string }>(
    `SELECT count(*) AS looked, count(*) FILTER (WHERE ${filterSql(window, parameters)}) AS met FROM (
      SELECT r.* FROM runs r WHERE ${inWindow(window, parameters)}
      ${end} ${parameters.add(count)}) r`,
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
  sealed?: Sealed,
): Promise<readonly (LateCount | UnknownLate)[]> {
  const marked = await findMarked(pool, windows);
  const endMs = systemClock.monotonicMs() + limitMs;
  const counts: (LateCount | UnknownLate)[] = windows.map(() => 'no mark');
  // rows come late to the newest days first of all
  for (const [at, window] of [...windows.entries()].reverse()) {
    if (!marked.has(window.runUid)) continue;
    const leftMs = Math.floor(endMs - systemClock.monotonicMs());
    counts[at] = leftMs > 0 ? await countWithin(pool, window, leftMs, sealed) : 'too long';
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
  sealed: Sealed,
): Promise<LateCount | 'too long'> {
  const isLate = (parameters: Parameters): string =>
    changedAfter(`(SELECT read_from FROM export_progress WHERE run_uid = ${parameters.add(window.runUid)})`);
  const found = await orTooLong(() =>
    inTransactionOf(pool, limitMs, sealed, window, async (db) => {
      const parameters = await prepare(db, sealed, window, (own) => ({ condition: isLate(own) }));
      const late = isLate(parameters);
      const text = `SELECT count(*) AS rows, min(r.start_time) AS first, max(r.start_time) AS last FROM runs r
        WHERE ${inWindow(window, parameters)} AND ${late} AND ${filterSql(window, parameters)}`;
      type Row = Readonly<Record<string, string | null>>;
      return db.query<Row>({ text, types: textTypes, values: parameters.values });
    }),
  );
  if (!found) return 'too long';
  const { rows: count, first, last } = found.rows[0] ?? {};
  return { rows: Number(count ?? 0), first: time(first), last: time(last) };
}

function time(text: string | null | undefined) {
  return text === null || text === undefined ? undefined : parseInstant(text, { zone: 'optional' });
}
