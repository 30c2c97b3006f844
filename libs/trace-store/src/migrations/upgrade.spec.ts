import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { migrate, openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { loadControlSchema } from '../control-schema.js';
import { ControlTables } from '../control/control-tables.js';
import { openTraceStore } from '../index.js';
import { allMigrations } from './all-migrations.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');

/** A database with the schema up to a version. */
async function formerStore(version: number) {
  const { uri } = await postgres.freshDatabase();
  const pool = openPool({ uri, applicationName: 'upgrade', log });
  const migrations = allMigrations(new ControlTables(pool, loadControlSchema));
  const former = migrations.filter((one) => one.version <= version);
  await migrate(pool, { migrations: former, lock: 7_214_001, log, clock: systemClock });
  return { uri, pool };
}

describe('an upgrade', () => {
  it('keeps the runs of a store from before pairs, and lets them be changed', async () => {
    const { uri, pool } = await formerStore(7);
    const [tenant, project, id] = [randomUUID(), randomUUID(), randomUUID()];
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

  it('adds up the traces of a store from before totals', async () => {
    const { uri, pool } = await formerStore(43);
    const [tenant, project, root, call] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const columns = `tenant_id, project_id, start_time, id, trace_id, parent_run_id, parent_run_ids, is_root, name, run_type,
      status, dotted_order, trace_tier, tags, total_tokens, total_cost`;
    const place = `'${tenant}', '${project}', '1960-11-20 12:00Z'`;
    await pool.query(
      `INSERT INTO projects (id, tenant_id, name) VALUES ('${project}', '${tenant}', 'default');
      INSERT INTO run_keys SELECT '${tenant}', i, '${root}', '1960-11-20 12:00Z', '${project}'
        FROM unnest(ARRAY['${root}', '${call}']::uuid[]) AS i;
      INSERT INTO runs (${columns}) VALUES
        (${place}, '${root}', '${root}', NULL, '{}', true, 'n', 'chain', 'success', '', '', '{}', NULL, NULL),
        (${place}, '${call}', '${root}', '${root}', '{}', false, 'n', 'llm', 'success', '', '', '{}', 7, 0.25)`,
    );
    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const shown = { totalTokens: 7, promptTokens: undefined, totalCost: '0.2500000000' };
    expect((await store.runs.get(tenant, root, { totals: true }))?.row).toMatchObject(shown);
    const late = { id: call, trace_id: root, run_type: 'llm', outputs: { usage: { total_tokens: 9 } } };
    await store.ingest(tenant, { post: [], patch: [{ run: Buffer.from(JSON.stringify(late)) }] });
    const changed = await store.runs.get(tenant, root, { totals: true });
    expect(changed?.row).toMatchObject({ ...shown, totalTokens: 9 });
    await store.close();
    await pool.end();
  });

  it('joins the sealed days of two tiers', async () => {
    const { uri, pool } = await formerStore(54);
    const [tenant, project] = [randomUUID(), randomUUID()];
    const of = `'${tenant}', '${project}', '2026-11-20'`;
    await pool.query(
      `INSERT INTO lake_days (tenant_id, project_id, day, tier, generation, sealed_rows, gone_rows)
      VALUES (${of}, 'longlived', 3, 30, 1), (${of}, 'shortlived', 1, 5, 2);
      INSERT INTO lake_segments (tenant_id, project_id, day, tier, generation, id, key, state)
      SELECT ${of}, tier, generation, gen_random_uuid(), key, state FROM (VALUES ('longlived', 3, 'l', 'sealed'),
        ('longlived', 2, 'old', 'former'), ('shortlived', 1, 's', 'sealed'), ('shortlived', 2, 'begun', 'writing')
      ) AS s (tier, generation, key, state)`,
    );
    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const days = await pool.query(
      'SELECT generation, sealed_rows::int, gone_rows::int, seen IS NOT NULL AS is_seen FROM lake_days',
    );
    expect(days.rows).toEqual([{ generation: 3, sealed_rows: 35, gone_rows: 3, is_seen: true }]);
    const segments = await pool.query('SELECT key, generation FROM lake_segments ORDER BY key');
    expect(segments.rows).toEqual([
      { key: 'begun', generation: 4 },
      { key: 'l', generation: 3 },
      { key: 'old', generation: 2 },
      { key: 's', generation: 3 },
    ]);
    await store.close();
    await pool.end();
  });

  it('keeps every version of the examples of a store that had their payloads in each', async () => {
    const { uri, pool } = await formerStore(24);
    const [tenant, dataset, id] = [randomUUID(), randomUUID(), randomUUID()];
    await pool.query(
      `INSERT INTO datasets (tenant_id, id, name, data_type, version_at, example_count, examples_made, stored_versions)
      VALUES ('${tenant}', '${dataset}', 'd', 'kv', '2026-11-22Z', 1, 1, 2);
      INSERT INTO example_versions VALUES
        ('${tenant}', '${dataset}', 0, '2026-11-20Z', '2026-11-22Z', '${id}', '2026-11-20Z', NULL, '{a}', '{"m":1}', '{}', '{}'),
        ('${tenant}', '${dataset}', 0, '2026-11-22Z', NULL, '${id}', '2026-11-20Z', NULL, '{a,b}', NULL, '{}', '{"o":1}')`,
    );

    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    const at = async (day: string) => {
      const asOf = { kind: 'time', time: parseInstant(day, { zone: 'required' }) ?? 0n } as const;
      const rows = await store.examples.search(tenant, { datasetId: dataset, asOf, limit: 2, offset: 0 });
      const payloads = await store.examples.payloads(tenant, rows, ['metadata', 'inputs', 'outputs']);
      return rows.map(({ splits, bytes }, n) => ({ splits, bytes, ...payloads[n] }));
    };
    expect(await at('2026-11-21T00:00:00Z')).toEqual([
      {
        splits: ['a'],
        bytes: 11,
        metadata: Buffer.from('{"m":1}'),
        inputs: Buffer.from('{}'),
        outputs: Buffer.from('{}'),
      },
    ]);
    expect(await at('2026-11-23T00:00:00Z')).toEqual([
      { splits: ['a', 'b'], bytes: 9, inputs: Buffer.from('{}'), outputs: Buffer.from('{"o":1}') },
    ]);
    await store.examples.change(tenant, dataset, [{ id, metadata: Buffer.from('{"m":2}') }]);
    const counted = () => pool.query('SELECT stored_bytes::int AS bytes FROM datasets');
    expect((await counted()).rows).toEqual([{ bytes: 3 * 256 + 1 + 2 + 2 + (7 + 2 + 7 + 7) }]);
    await store.examples.delete(tenant, [id], true);
    expect((await counted()).rows).toEqual([{ bytes: 0 }]);
    await store.close();
    await pool.end();
  });
});
