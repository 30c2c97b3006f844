import type { Migration } from '#lib/postgres';

/** Interrupted deletions of traces are completed tenant by tenant, each by one process at a time. */
export const erasureClaims: Migration = {
  version: 38,
  name: 'claims of deletions of traces',
  sql: `
-- another process leaves it alone until then
ALTER TABLE trace_erasures ADD COLUMN claimed_until timestamptz NOT NULL DEFAULT '-infinity';
CREATE INDEX trace_erasures_undone ON trace_erasures (tenant_id, erased_at) WHERE NOT is_done;
`,
};
