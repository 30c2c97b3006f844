/** A run that began so long ago and has not ended is not waited for. */
export const LONGEST_RUN_HOURS = 24n;
/** Runs below a root that ended so long ago have lost their ends: senders flush within minutes. */
export const LATEST_END_HOURS = 1n;

/**
 * SQL: the status that is shown of the run in row `r`. A run whose process died is interrupted, which nothing writes: an end
 * that comes later counts.
 */
export function shownStatusSql(r: string): string {
  const ended = `EXISTS (SELECT FROM run_keys k JOIN runs o ON o.tenant_id = k.tenant_id AND o.project_id = k.project_id AND o.start_time = k.start_time AND o.id = k.id AND o.trace_id = k.trace_id WHERE k.tenant_id = ${r}.tenant_id AND k.project_id = ${r}.project_id AND k.trace_id = ${r}.trace_id AND o.is_root AND o.end_time < now() - interval '${LATEST_END_HOURS} hours' OFFSET 0)`;
  return `CASE WHEN ${r}.status = 'pending' AND ${r}.end_time IS NULL AND (${r}.start_time < now() - interval '${LONGEST_RUN_HOURS} hours' OR NOT ${r}.is_root AND ${ended}) THEN 'interrupted' ELSE ${r}.status END`;
}
