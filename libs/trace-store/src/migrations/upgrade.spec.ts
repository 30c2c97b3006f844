import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { migrate, openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { ControlTables } from '../control/control-tables.js';
import { loadControlSchema } from '../control-schema.js';
import { openTraceStore } from '../index.js';
import { allMigrations } from './all-migrations.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');

describe('an upgrade', () => {
  it('keeps the runs of a store from before pairs, and lets them be changed', async () => {
    const { uri } = await postgres.freshDatabase();
    const pool = openPool({ uri, applicationName: 'upgrade', log });
    const [tenant, project, id] = [randomUUID(), randomUUID(), randomUUID()];
    const migrations = allMigrations(new ControlTables(pool, loadControlSchema));
    const former = migrations.filter(({ version }) => version <= 7);
    await migrate(pool, { migrations: former, lock: 7_214_001, log, clock: systemClock });
    await pool.query(
      `INSERT INTO projects (id, tenant_id, name) VALUES ('${project}', '${tenant}', 'default');
      CREATE TABLE runs_20261120 PARTITION OF runs FOR VALUES FROM ('2026-11-20') TO ('2026-11-21');
      CREATE TABLE run_payloads_20261120 PARTITION OF run_payloads FOR VALUES FROM ('2026-11-20') TO ('2026-11-21');
      INSERT INTO run_keys VALUES ('${tenant}', '${id}', '${id}', '2026-11-20 12:00Z', '${project}');
      INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_ids, is_root, name, run_type, status,
        dotted_order, trace_tier, tags)
      VALUES ('${tenant}', '${project}', '2026-11-20 12:00Z', '${id}', '${id}', '{}', true, 'n', 'llm', 'error', '', '', '{}');
      INSERT INTO run_payloads (tenant_id, project_id, start_time, id, trace_id, inputs)
      VALUES ('${tenant}', '${project}', '2026-11-20 12:00Z', '${id}', '${id}', '{"a": 1}')`,
    );

    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const patch = Buffer.from(JSON.stringify({ id, outputs: { ok: true }, extra: { metadata: { a: 1 } } }));
    await store.ingest(tenant, { post: [], patch: [{ run: patch }] });
    const run = await store.runs.get(tenant, id);
    expect(run?.row).toMatchObject({ name: 'n', status: 'error', projectId: project });
    expect(run?.payloads.inputs?.toString()).toBe('{"a": 1}');
    expect(run?.payloads.outputs?.toString()).toBe('{"ok":true}');
    const { rows } = await pool.query(
      `SELECT is_failed, (SELECT count(*)::int FROM run_pairs) AS pairs,
        (SELECT count(*)::int FROM pg_index WHERE NOT indisvalid) AS invalid FROM runs`,
    );
    expect(rows).toEqual([{ is_failed: true, pairs: 1, invalid: 0 }]);
    await store.close();
    await pool.end();
  });
});
