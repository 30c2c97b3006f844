import { FENCE, FILTER_TABLES } from './filter-tables.js';

/** Whether the payloads `p` of the run in row `r` meet a condition. */
export function payloadSql(r: string, condition: string): string {
  return `EXISTS (SELECT FROM ${FILTER_TABLES.payloads} p WHERE p.tenant_id = ${r}.tenant_id AND p.project_id = ${r}.project_id AND p.start_time = ${r}.start_time AND p.id = ${r}.id AND p.trace_id = ${r}.trace_id AND ${condition} ${FENCE})`;
}

/** Whether the metadata meet a condition; what Postgres cannot hold as `jsonb` (a NUL, a number too great) meets none. */
export function metadataSql(r: string, condition: (metadata: string) => string): string {
  return payloadSql(
    r,
    `CASE WHEN pg_input_is_valid(p.extra, 'jsonb') THEN ${condition(`(p.extra::jsonb -> 'metadata')`)} END`,
  );
}
