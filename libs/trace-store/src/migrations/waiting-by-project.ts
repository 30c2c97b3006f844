import type { Migration } from '#lib/postgres';

/**
 * Rows that wait for runs are found by project when the project is deleted, regardless of the tenant's other
 * waiting rows; unplaced runs by age in a total order, so that giving them up is one walk.
 */
export const waitingByProject: Migration = {
  version: 27,
  name: 'what waits for runs by project',
  sql: `
CREATE INDEX run_patches_waiting_project ON run_patches_waiting (tenant_id, project_id) WHERE project_id IS NOT NULL;
CREATE INDEX unplaced_runs_project ON unplaced_runs (tenant_id, project_id);
CREATE INDEX attachments_project ON attachments (tenant_id, project_id);
DROP INDEX unplaced_runs_age;
CREATE INDEX unplaced_runs_age ON unplaced_runs (received_at, tenant_id, trace_id, run_id);
`,
};
