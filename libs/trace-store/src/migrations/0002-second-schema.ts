import type { Migration } from './migration.js';

const SQL = `
-- The same id may stand in two traces, also at the same time: only with the trace is the cursor's order a total one.
ALTER TABLE export_progress ADD cursor_trace_id uuid;

-- Updates whose create never comes are dropped by age.
CREATE INDEX run_patches_waiting_age ON run_patches_waiting (received_at);
`;

export const secondSchema: Migration = { version: 2, name: 'whole cursors, overdue updates', sql: SQL };
