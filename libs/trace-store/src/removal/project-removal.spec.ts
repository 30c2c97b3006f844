import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const DAY = '2026-11-20';
const TABLES = ['run_keys', 'runs', 'run_payloads', 'run_pairs'];

describe('deletion of a project', () => {
  let store: TraceStore;
  let replica: TraceStore;
  let client: pg.Client;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const open = () =>
      openTraceStore({ uri, poolSize: 4, log: createLogger('test', 'silent'), clock: systemClock });
    [store, replica] = [open(), open()];
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
    // makes the partition of the day
    await post(randomUUID(), runOf());
  });
  afterAll(async () => {
    await client.end();
    for (const one of [store, replica]) await one.close();
  });

  const bytes = (value: object) => ({ run: Buffer.from(JSON.stringify(value)) });
  const runOf = (more: object = {}) => {
    const id = randomUUID();
    return {
      id,
      trace_id: id,
      name: 'n',
      run_type: 'chain',
      session_name: 'p',
      inputs: { a: 1 },
      start_time: `${DAY}T10:00:00Z`,
      extra: { metadata: { a: 1 } },
      ...more,
    };
  };
  const post = (tenant: string, ...runs: object[]) =>
    store.ingest(tenant, { post: runs.map(bytes), patch: [] });
  const patch = (tenant: string, run: object) => store.ingest(tenant, { post: [], patch: [bytes(run)] });
  const ensure = async (tenant: string, name = 'p') => (await store.projects.ensure(tenant, name)).id;
  const idOf = async (tenant: string, name: string) => (await store.projects.find(tenant, { name }))?.id;

  /** Rows of the tenant, by table. */
  const rowsOf = async (tenant: string): Promise<number[]> => {
    const counts = TABLES.map((table) => `(SELECT count(*)::int FROM ${table} WHERE tenant_id = $1)`);
    const { rows } = await client.query<{ counts: number[] }>(`SELECT ARRAY[${counts.join()}] AS counts`, [
      tenant,
    ]);
    return rows[0]?.counts ?? [];
  };

  /** Stores many runs at once, as ingestion would. */
  const seed = async (tenant: string, project: string, count: number): Promise<void> => {
    await client.query(
      `CREATE TEMP TABLE seed AS SELECT gen_random_uuid() AS id, timestamptz '${DAY} 00:00Z' + n * interval '1 ms' AS at
      FROM generate_series(1, ${count}) AS n`,
    );
    await client.query(
      `INSERT INTO run_keys SELECT '${tenant}', id, id, at, '${project}' FROM seed;
      INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_ids, is_root, name, run_type, status,
        dotted_order, trace_tier, tags) SELECT '${tenant}', '${project}', at, id, id, '{}', true, 'n', 'llm', 'success', '', '', '{}' FROM seed;
      INSERT INTO run_payloads (tenant_id, project_id, start_time, id, trace_id, inputs)
        SELECT '${tenant}', '${project}', at, id, id, '{"a":1}' FROM seed;
      INSERT INTO run_pairs SELECT '${tenant}', '${project}', at, id, id, 1, 'a', '1' FROM seed;
      DROP TABLE seed`,
    );
  };

  /** Records the intent as a process does that is killed right after it. */
  const intend = (tenant: string, project: string, name = 'p') =>
    client.query(
      `WITH gone AS (DELETE FROM projects WHERE tenant_id = '${tenant}' AND id = '${project}')
      INSERT INTO project_deletions (tenant_id, project_id, name, claimed_until)
      VALUES ('${tenant}', '${project}', '${name}', 'infinity')`,
    );
  const release = (tenant: string) =>
    client.query(`UPDATE project_deletions SET claimed_until = '-infinity' WHERE tenant_id = $1`, [tenant]);

  it('answers before the rows are removed, and removes 20,000 runs in pieces while another tenant ingests', async () => {
    const [big, other, small] = [randomUUID(), randomUUID(), randomUUID()];
    const project = await ensure(big);
    await seed(big, project, 20_000);
    await post(small, runOf());
    await client.query(
      `CREATE TABLE pieces (removed int, tenant_id uuid);
      CREATE FUNCTION note_piece() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO pieces SELECT count(*), tenant_id FROM old GROUP BY tenant_id; RETURN NULL; END';
      CREATE TRIGGER note_piece AFTER DELETE ON run_keys REFERENCING OLD TABLE AS old
        FOR EACH STATEMENT EXECUTE FUNCTION note_piece()`,
    );
    expect(await store.projects.delete(big, project)).toBe(true);
    expect((await rowsOf(big))[0]).toBeGreaterThan(0);
    expect(await store.projects.find(big, { id: project })).toBeUndefined();
    expect(await store.projects.deletedAt(big, project)).toBeInstanceOf(Date);
    await store.projects.delete(small, await ensure(small));
    const tidying = store.tidy();
    for (let n = 0; n < 10; n++) expect(await post(other, runOf(), runOf())).toMatchObject({ accepted: 2 });
    await tidying;
    expect(await rowsOf(big)).toEqual([0, 0, 0, 0]);
    expect(await rowsOf(small)).toEqual([0, 0, 0, 0]);
    expect(await rowsOf(other)).toEqual([20, 20, 20, 20]);
    const { rows } = await client.query<{ removed: number; tenant_id: string }>('SELECT * FROM pieces');
    await client.query('DROP TRIGGER note_piece ON run_keys; DROP TABLE pieces');
    expect(rows.filter((row) => row.tenant_id === big)).toHaveLength(20);
    expect(Math.max(...rows.map(({ removed }) => removed))).toBe(1_000);
    // the small tenant was served before the large one had ended
    expect(rows.findIndex((row) => row.tenant_id === small)).toBeLessThan(15);
  });

  it('hides the runs of the project at once from every reader', async () => {
    const tenant = randomUUID();
    const run = runOf();
    await post(tenant, run, runOf({ session_name: 'other' }));
    await intend(tenant, await ensure(tenant));
    expect(await store.runs.get(tenant, run.id)).toBeUndefined();
    for (const search of [{}, { ids: [run.id] }, { traceId: run.id }, { isRoot: true }]) {
      const page = { order: 'ascending', limit: 10, fields: [], maxBytes: 1e6 } as const;
      const { runs } = await store.runs.search(tenant, search, page);
      expect(runs.map(({ row }) => row.id)).not.toContain(run.id);
    }
    expect((await store.projects.list(tenant)).map(({ name }) => name)).toEqual(['other']);
  });

  it('stores a run of a deleted project in the new one of its name, before the old rows are removed', async () => {
    const tenant = randomUUID();
    const [again, updated, waiting] = [runOf(), runOf(), runOf()];
    await post(tenant, again, updated, waiting, runOf());
    const project = await ensure(tenant);
    await intend(tenant, project);
    expect(await post(tenant, again)).toMatchObject({ accepted: 1, refused: [] });
    const end = { ...updated, inputs: undefined, outputs: { b: 2 }, end_time: `${DAY}T10:00:01Z` };
    expect(await patch(tenant, end)).toMatchObject({ accepted: 1, refused: [] });
    expect(await patch(tenant, { id: waiting.id, outputs: {} })).toMatchObject({ accepted: 1 });
    const anew = await idOf(tenant, 'p');
    expect(anew).not.toBe(project);
    expect((await store.runs.get(tenant, again.id))?.row.projectId).toBe(anew);
    const stored = await store.runs.get(tenant, updated.id);
    expect([stored?.row.projectId, Object.keys(stored?.payloads ?? {}).sort()]).toEqual([
      anew,
      ['extra', 'outputs'],
    ]);
    expect(await store.runs.get(tenant, waiting.id)).toBeUndefined();
    await release(tenant);
    await store.tidy();
    expect(await rowsOf(tenant)).toEqual([2, 2, 2, 2]);
  });

  it('keeps runs whole when a piece fails, lets other tenants go on, and completes it later', async () => {
    const [stuck, free] = [randomUUID(), randomUUID()];
    for (const tenant of [stuck, free]) await seed(tenant, await ensure(tenant), 2_500);
    await client.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
      CREATE TRIGGER refuse BEFORE DELETE ON run_keys FOR EACH ROW
        WHEN (OLD.tenant_id = '${stuck}' AND OLD.start_time > '${DAY} 00:00:01.5Z') EXECUTE FUNCTION refuse()`,
    );
    for (const tenant of [stuck, free]) await store.projects.delete(tenant, await ensure(tenant));
    await store.tidy();
    expect(await rowsOf(free)).toEqual([0, 0, 0, 0]);
    expect(await rowsOf(stuck)).toEqual([1_500, 1_500, 1_500, 1_500]);
    await client.query('DROP FUNCTION refuse CASCADE');
    await release(stuck);
    await replica.tidy();
    expect(await rowsOf(stuck)).toEqual([0, 0, 0, 0]);
  });

  it('continues in the same call when a session of the database ends', async () => {
    const tenant = randomUUID();
    await seed(tenant, await ensure(tenant), 10);
    await intend(tenant, await ensure(tenant));
    await release(tenant);
    await client.query('BEGIN');
    await client.query('SELECT FROM run_keys WHERE tenant_id = $1 FOR UPDATE', [tenant]);
    const tidied = store.tidy();
    const ended = async () => {
      // nothing but the removal waits for a row here
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rowCount === 1;
    };
    await waitFor(ended, { what: 'the end of the session that waits' });
    await client.query('ROLLBACK');
    await tidied;
    expect(await rowsOf(tenant)).toEqual([0, 0, 0, 0]);
  });

  it('removes several projects of a tenant in one call', async () => {
    const tenant = randomUUID();
    // the planner expects one row, and looks the next one up for each row of the tenant
    await client.query('DELETE FROM project_deletions');
    await client.query('VACUUM ANALYZE project_deletions');
    for (const name of ['a', 'b', 'c', 'd']) await intend(tenant, await ensure(tenant, name));
    await release(tenant);
    await store.tidy();
    const { rows } = await client.query(
      'SELECT name FROM project_deletions WHERE tenant_id = $1 AND completed_at IS NULL',
      [tenant],
    );
    expect(rows).toEqual([]);
  });

  it('completes when two processes tidy at once', async () => {
    const tenants = Array.from({ length: 4 }, () => randomUUID());
    for (const tenant of tenants) {
      await seed(tenant, await ensure(tenant), 3_000);
      await intend(tenant, await ensure(tenant));
      await release(tenant);
    }
    await Promise.all([store.tidy(), replica.tidy()]);
    for (const tenant of tenants) expect(await rowsOf(tenant)).toEqual([0, 0, 0, 0]);
    const { rows } = await client.query(
      'SELECT FROM project_deletions WHERE tenant_id = ANY ($1) AND completed_at IS NULL',
      [tenants],
    );
    expect(rows).toEqual([]);
  });

  it('keeps the id from a new project while rows have it, and forgets it a month later', async () => {
    const tenant = randomUUID();
    const id = await ensure(tenant);
    await post(tenant, runOf());
    await intend(tenant, id);
    await expect(store.projects.ensure(tenant, 'anew', { id })).rejects.toMatchObject({ code: 'conflict' });
    await release(tenant);
    await store.tidy();
    expect(await store.projects.ensure(tenant, 'anew', { id })).toMatchObject({ id });
    expect(await store.projects.deletedAt(tenant, id)).toBeUndefined();
    await store.projects.delete(tenant, id);
    await store.tidy();
    await client.query(
      `UPDATE project_deletions SET completed_at = completed_at - interval '31 days' WHERE tenant_id = $1`,
      [tenant],
    );
    expect(await store.projects.deletedAt(tenant, id)).toBeInstanceOf(Date);
    await store.tidy();
    expect(await store.projects.deletedAt(tenant, id)).toBeUndefined();
  });

  it('ends an export of the project with the reason', async () => {
    const tenant = randomUUID();
    const projectId = await ensure(tenant);
    await store.exportSource.checkProject({ tenantId: tenant, projectId });
    await store.projects.delete(tenant, projectId);
    const checking = store.exportSource.checkProject({ tenantId: tenant, projectId });
    await expect(checking).rejects.toThrow(`the tracing project ${projectId} was deleted at 20`);
  });
});
