import type { ExportColumn } from './export-columns.js';
import { keySetting, type Stretch } from './export-query.js';
import { setting } from './export-settings.js';

/** The run that a row of feedback belongs to, as a row of `runs` named `r`. */
const ITS_RUN = `r.tenant_id = f.tenant_id AND r.project_id = f.project_id AND r.start_time = f.start_time
  AND r.id = f.run_id AND r.trace_id = f.trace_id`;

/**
 * The feedback of the runs of a window that meet the filter, in order. That of projects, and what waits for its run, has
 * no place in a window.
 * @param filter a condition on a row of `runs` named `r`; undefined for all
 */
export function feedbackQuery(
  columns: readonly ExportColumn[],
  { isAfter, isLimited }: Omit<Stretch, 'isUntil'>,
  filter: string | undefined,
): string {
  const after = isAfter ? ` AND (f.start_time, f.id, f.trace_id) > ${keySetting('after')}` : '';
  const found = filter === undefined ? '' : ` AND EXISTS (SELECT FROM runs r WHERE ${ITS_RUN} AND ${filter})`;
  return `SELECT ${columns.map((column) => `${column.sql} AS ${column.name}`).join(', ')} FROM feedback f
WHERE f.tenant_id = ${setting('tenant', 'uuid')} AND f.project_id = ${setting('project', 'uuid')} AND f.run_id IS NOT NULL
  AND f.start_time >= ${setting('start', 'timestamptz')} AND f.start_time < ${setting('end', 'timestamptz')}${after}${found}
ORDER BY f.start_time, f.id, f.trace_id ${isLimited ? `LIMIT ${setting('limit', 'bigint')}` : ''}`;
}
