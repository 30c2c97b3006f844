import type { ExportColumn } from './export-columns.js';
import { keySetting, type Stretch } from './export-query.js';
import { setting } from './export-settings.js';

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
