import { FILTER_LIMITS } from '#lib/filter-language';

/** Tables and columns that filters read, beside the columns of `runs` themselves. */
export const FILTER_TABLES = Object.freeze({
  runs: 'runs',
  payloads: 'run_payloads',
  keys: 'run_keys',
  pairs: 'run_pairs',
  feedback: 'feedback',
});

/** `kind` of `run_pairs`. */
export const METADATA = 1;

/**
 * Keeps a subquery one look by key for each run. Without it the planner makes a join of it, and before the first ANALYZE
 * of a new day, when it believes in one row, a join that goes through all rows of the day for each run: 7 s for 80 runs.
 */
export const FENCE = 'OFFSET 0';

/** SQL that is true when the payloads `p` of the run in row `r` meet a condition. */
export function payloadSql(r: string, condition: string): string {
  return `EXISTS (SELECT FROM ${FILTER_TABLES.payloads} p WHERE p.tenant_id = ${r}.tenant_id AND p.project_id = ${r}.project_id AND p.start_time = ${r}.start_time AND p.id = ${r}.id AND p.trace_id = ${r}.trace_id AND ${condition} ${FENCE})`;
}

/** A payload that is small enough to be taken apart, according to its row, without reading it; else null. */
export function smallPayload(column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${FILTER_LIMITS.readBytes} THEN ${column} END`;
}

/** The beginning of a payload: a condition holds what it has read of it until it is asked again. */
export function beginning(column: string): string {
  return `left(${column}, ${FILTER_LIMITS.searchedCharacters})`;
}

/** SQL: whether `extra` can be taken apart. */
export const IS_READABLE = `octet_length(p.extra) <= ${FILTER_LIMITS.readBytes} AND pg_input_is_valid(p.extra, 'jsonb')`;

/**
 * SQL that is true when the metadata meet a condition; metadata that are too large, or no `jsonb` for
 * Postgres (a NUL, a number too great), meet none.
 */
export function metadataSql(r: string, condition: (metadata: string) => string): string {
  return payloadSql(r, `CASE WHEN ${IS_READABLE} THEN ${condition(`(p.extra::jsonb -> 'metadata')`)} END`);
}
