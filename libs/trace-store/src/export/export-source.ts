import type { Readable } from 'node:stream';
import type { Filter } from '#lib/filter-language';
import type { Connection } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import type { PayloadQuery } from '../run/payload-store.js';
import type { SealedGroups, SealedRef } from '../run/sealed-payloads.js';
import { PAYLOAD_FIELDS, type PayloadField, type RunPayloads } from '../run/stored-run.js';
import { isTotalColumn, totalsJoin } from '../run/trace-totals.js';
import { type ExportColumn, SETTING, setting } from './export-columns.js';
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

/** Payloads of sealed runs, which the tuples do not have. */
export interface SealedPayloadsOfRows {
  /** Payloads that tuples of other runs have, each with its field. */
  readonly fields: readonly (readonly [name: PayloadField, field: number])[];
  /** Payloads of rows of segments, in their order. */
  readonly read: (refs: readonly SealedRef[]) => Promise<readonly RunPayloads[]>;
  /** Row groups of a segment, with the pages of `fields`. */
  readonly groups: (segment: string) => Promise<SealedGroups>;
}

/** The rows of an export, as Postgres sends them. */
export interface ExportRows {
  /** The chosen columns in export order; field n of each tuple is column n. */
  readonly columns: readonly ExportColumn[];
  /** Number of fields of each tuple. */
  readonly fields: number;
  /** Present when two fields follow the columns, a segment and an ordinal: a run that has these is sealed. */
  readonly sealed?: SealedPayloadsOfRows | undefined;
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

type Settings = readonly (readonly [name: string, value: string])[];

/** Place of a row in the order of exports, with its time as Postgres writes it. */
export interface RowKey {
  readonly time: string;
  readonly id: string;
  readonly trace: string;
}

/** Rows of a window that one statement reads: after a row, up to and with a row, at most so many. */
export interface Stretch {
  readonly isAfter: boolean;
  readonly isUntil: boolean;
  readonly isLimited: boolean;
}

/** A place in the order of exports that a statement was given, as SQL. */
function keySetting(side: 'after' | 'until'): string {
  return `(${setting(`${side}Time`, 'timestamptz')}, ${setting(`${side}Id`, 'uuid')}, ${setting(`${side}Trace`, 'uuid')})`;
}

/** Rows of the window, of either table. The range of times says which partitions are read. */
function bounds(table: 'r' | 'p', { isAfter, isUntil }: Omit<Stretch, 'isLimited'>): string {
  const until = isUntil ? ` AND ${table}.start_time <= ${setting('untilTime', 'timestamptz')}` : '';
  return `${table}.tenant_id = ${setting('tenant', 'uuid')} AND ${table}.project_id = ${setting('project', 'uuid')}
  AND ${table}.start_time >= ${isAfter ? setting('afterTime', 'timestamptz') : setting('start', 'timestamptz')}
  AND ${table}.start_time < ${setting('end', 'timestamptz')}${until}`;
}

function runsOf(stretch: Omit<Stretch, 'isLimited'>): string {
  const after = stretch.isAfter ? ` AND (r.start_time, r.id, r.trace_id) > ${keySetting('after')}` : '';
  const until = stretch.isUntil ? ` AND (r.start_time, r.id, r.trace_id) <= ${keySetting('until')}` : '';
  return `${bounds('r', stretch)}${after}${until}`;
}

/** True when a column is stored as a payload; the others are computed. */
function isStoredPayload({ name }: ExportColumn): boolean {
  return PAYLOAD_FIELDS.some((field) => field === name);
}

/** Condition of a statement, and how it reads payloads. */
export interface RowCondition {
  readonly sql: string;
  /** True when payloads of sealed runs have been loaded. */
  readonly readsSealed: boolean;
}

/** The rows of a stretch that meet the filter, in order. */
export function rowsQuery(
  payloads: PayloadQuery,
  columns: readonly ExportColumn[],
  stretch: Stretch,
  { sql: filter, readsSealed }: RowCondition,
): string {
  const firstPayload = columns.find((column) => column.payload);
  const sqlOf = (column: ExportColumn): string => {
    const value = isStoredPayload(column) ? payloads.value(column.sql, readsSealed) : column.sql;
    return column === firstPayload ? payloads.required(value, readsSealed) : value;
  };
  return `SELECT ${columns.map((column) => `${sqlOf(column)} AS ${column.name}`).join(', ')}
FROM runs r ${firstPayload ? payloads.join((table) => bounds(table, stretch)) : ''}
${columns.some(({ name }) => isTotalColumn(name)) ? totalsJoin('r') : ''}
WHERE ${runsOf(stretch)} AND ${filter}
ORDER BY r.start_time, r.id, r.trace_id ${stretch.isLimited ? `LIMIT ${setting('limit', 'bigint')}` : ''}`;
}

/** Places of the sealed runs of a stretch that meet a condition. */
export function sealedRowsQuery(stretch: Stretch, condition: string): string {
  return `SELECT r.segment, r.ordinal FROM runs r WHERE ${runsOf(stretch)} AND r.segment IS NOT NULL AND ${condition}`;
}

/** Places of the sealed runs that the feedback of a stretch is on, and that meet a condition. */
export function sealedFeedbackQuery(stretch: Stretch, condition: string): string {
  return `SELECT r.segment, r.ordinal FROM feedback f JOIN runs r ON ${ITS_RUN}
  WHERE ${feedbackOf(stretch)} AND r.segment IS NOT NULL AND ${condition}`;
}

/** The key of the row that is number `$1 + 1` after the last, whether it meets a filter or not. */
export function keyQuery(isAfter: boolean): string {
  return `SELECT r.start_time::text AS time, r.id, r.trace_id AS trace FROM runs r
WHERE ${runsOf({ isAfter, isUntil: false })} ORDER BY r.start_time, r.id, r.trace_id OFFSET $1 LIMIT 1`;
}

/**
 * Rows that a mark of a run does not see, as SQL. A mark is a snapshot: it distinguishes the transactions of
 * its time that had committed from those in progress, whatever order they began in. A root changes with the
 * totals of its trace.
 * @param mark of the type pg_snapshot, as SQL
 */
export function changedAfter(mark: string): string {
  return `(NOT pg_visible_in_snapshot(r.changed_in, ${mark}) OR (r.is_root AND EXISTS (
    SELECT FROM trace_totals g WHERE g.tenant_id = r.tenant_id AND g.trace_id = r.trace_id AND g.project_id = r.project_id
      AND NOT pg_visible_in_snapshot(g.changed_in, ${mark}) OFFSET 0)))`;
}

export function windowSettings(window: ExportWindow): Settings {
  const { tenantId, projectId, startTime, endTime, changedSince } = window;
  return [
    ...(changedSince === undefined ? [] : [[SETTING.since, changedSince] as const]),
    [SETTING.tenant, tenantId],
    [SETTING.project, projectId],
    [SETTING.start, formatInstant(startTime)],
    [SETTING.end, formatInstant(endTime)],
  ];
}

export function keySettings(side: 'after' | 'until', key: RowKey | undefined): Settings {
  if (!key) return [];
  return [
    [SETTING[`${side}Time`], key.time],
    [SETTING[`${side}Id`], key.id],
    [SETTING[`${side}Trace`], key.trace],
  ];
}

export function limitSettings(maxRows: ExportRead['maxRows']): Settings {
  return maxRows === undefined ? [] : [[SETTING.limit, String(maxRows)]];
}

export function keyOf(cursor: ExportCursor | undefined): RowKey | undefined {
  return cursor && { time: formatInstant(cursor.startTime), id: cursor.id, trace: cursor.traceId };
}

/** Sets them for the transaction. */
export async function applySettings(client: Connection, settings: Settings): Promise<void> {
  if (settings.length === 0) return;
  const calls = settings.map((_setting, i) => `set_config($${i * 2 + 1}, $${i * 2 + 2}, true)`);
  await client.query(`SELECT ${calls.join(', ')}`, settings.flat());
}

/** The run that a row of feedback belongs to, as a row of `runs` named `r`. */
const ITS_RUN = `r.tenant_id = f.tenant_id AND r.project_id = f.project_id AND r.start_time = f.start_time
  AND r.id = f.run_id AND r.trace_id = f.trace_id`;

/**
 * Feedback of a stretch, whether its run meets a filter or not. Feedback on projects, and feedback that waits
 * for its run, has no place in a window.
 */
function feedbackOf({ isAfter, isUntil }: Omit<Stretch, 'isLimited'>): string {
  const after = isAfter ? ` AND (f.start_time, f.id, f.trace_id) > ${keySetting('after')}` : '';
  const until = isUntil ? ` AND (f.start_time, f.id, f.trace_id) <= ${keySetting('until')}` : '';
  return `f.tenant_id = ${setting('tenant', 'uuid')} AND f.project_id = ${setting('project', 'uuid')} AND f.run_id IS NOT NULL
  AND f.start_time >= ${setting('start', 'timestamptz')} AND f.start_time < ${setting('end', 'timestamptz')}${after}${until}`;
}

/**
 * The feedback of a stretch whose runs meet the filter, in order.
 * @param filter a condition on a row of `runs` named `r`; undefined for all
 */
export function feedbackQuery(
  columns: readonly ExportColumn[],
  stretch: Stretch,
  filter: string | undefined,
): string {
  const found = filter === undefined ? '' : ` AND EXISTS (SELECT FROM runs r WHERE ${ITS_RUN} AND ${filter})`;
  return `SELECT ${columns.map((column) => `${column.sql} AS ${column.name}`).join(', ')} FROM feedback f
WHERE ${feedbackOf(stretch)}${found}
ORDER BY f.start_time, f.id, f.trace_id ${stretch.isLimited ? `LIMIT ${setting('limit', 'bigint')}` : ''}`;
}

/** The key of the feedback that is number `$1 + 1` after the last, whether its run meets a filter or not. */
export function feedbackKeyQuery(isAfter: boolean): string {
  return `SELECT f.start_time::text AS time, f.id, f.trace_id AS trace FROM feedback f
WHERE ${feedbackOf({ isAfter, isUntil: false })} ORDER BY f.start_time, f.id, f.trace_id OFFSET $1 LIMIT 1`;
}
