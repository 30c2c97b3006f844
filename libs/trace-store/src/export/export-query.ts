import type { Connection } from '#lib/postgres';
import { formatInstant } from '#lib/time';
import type { PayloadQuery } from '../run/payload-store.js';
import { isTotalColumn, totalsJoin } from '../run/trace-totals.js';
import { type ExportColumn, SETTING, setting } from './export-columns.js';
import type { ExportCursor } from './export-progress.js';
import type { ExportRead, ExportWindow } from './export-source.js';

export type Settings = readonly (readonly [name: string, value: string])[];

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

/** The rows of a stretch that meet the filter, in order. */
export function rowsQuery(
  payloads: PayloadQuery,
  columns: readonly ExportColumn[],
  stretch: Stretch,
  filter: string,
): string {
  const firstPayload = columns.find((column) => column.payload);
  const sqlOf = (column: ExportColumn): string =>
    column === firstPayload ? payloads.required(column.sql) : column.sql;
  return `SELECT ${columns.map((column) => `${sqlOf(column)} AS ${column.name}`).join(', ')}
FROM runs r ${firstPayload ? payloads.join((table) => bounds(table, stretch)) : ''}
${columns.some(({ name }) => isTotalColumn(name)) ? totalsJoin('r') : ''}
WHERE ${runsOf(stretch)} AND ${filter}
ORDER BY r.start_time, r.id, r.trace_id ${stretch.isLimited ? `LIMIT ${setting('limit', 'bigint')}` : ''}`;
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
