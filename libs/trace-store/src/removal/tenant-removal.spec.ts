import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import type { TenantRest } from '../index.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';

/** Objects of the object store are deleted first, by tidying. */
const LEFT_TO_TIDYING = ['attachment_objects', 'attachment_usage'];

/** Values of columns that a check restricts. */
const VALUES: Readonly<Record<string, string>> = {
  'api_keys.scope': `'ingest'`,
  'trace_erasures.kind': `'trace'`,
  'ingest_problems.kind': `'dropped'`,
  'ingest_problem_counts.kind': `'dropped'`,
  'lake_days.tier': `'longlived'`,
  'lake_segments.state': `'sealed'`,
};
const VALUE_OF_TYPE: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  text: 'gen_random_uuid()::text',
  timestamptz: 'now()',
  bytea: `'\\x00'`,
  bool: 'false',
  jsonb: `'{}'`,
  _uuid: `'{}'`,
  _text: `'{}'`,
  date: 'current_date',
};

describe('removal of a tenant', () => {
  const database = testTraceStore();
  /** Every table with rows of tenants, and its columns that need a value. */
  const tables = new Map<string, { name: string; type: string }[]>();

  beforeAll(async () => {
    const { rows } = await database.client.query<{
      table: string;
      name: string;
      type: string;
      needed: boolean;
    }>(
      `SELECT c.relname AS table, a.attname AS name, t.typname AS type, a.attnotnull AND NOT a.atthasdef
        AND a.attgenerated = '' AND a.attidentity = '' AS needed
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        JOIN pg_type t ON t.oid = a.atttypid
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND EXISTS (SELECT FROM pg_attribute o WHERE o.attrelid = c.oid AND o.attname = 'tenant_id')`,
    );
    for (const { table, name, type, needed } of rows) {
      const columns = tables.get(table) ?? [];
      tables.set(table, columns);
      if (needed) columns.push({ name, type });
    }
  });

  /** Gives a tenant three projects with rows, one of them deleted, and a row in each table beside those of runs. */
  async function fill(tenant: string): Promise<void> {
    const ids = [randomUUID(), randomUUID()];
    const runs = ids.map((id, at) => ({
      run: Buffer.from(
        JSON.stringify({
          id,
          trace_id: id,
          name: 'n',
          run_type: 'llm',
          session_name: `p${at}`,
          start_time: '2026-11-20T10:00:00Z',
          inputs: { a: 1 },
          extra: { metadata: { a: 1 } },
        }),
      ),
    }));
    await database.store.ingest(tenant, { post: runs, patch: [] });
    // rows without what they refer to
    await database.client.query('SET session_replication_role = replica');
    for (const [table, columns] of tables) {
      if (['runs', 'run_payloads', 'run_pairs', 'run_keys', 'projects'].includes(table)) continue;
      const values = columns.map(({ name, type }) =>
        name === 'tenant_id' ? `'${tenant}'` : (VALUES[`${table}.${name}`] ?? VALUE_OF_TYPE[type] ?? '1'),
      );
      await database.client.query(
        `INSERT INTO ${table} (${columns.map(({ name }) => name).join()}) VALUES (${values.join()}) ON CONFLICT DO NOTHING`,
      );
    }
    await database.client.query('SET session_replication_role = DEFAULT');
  }

  async function rowsOf(tenant: string): Promise<Record<string, number>> {
    const counts = [...tables.keys()].map(
      (table) => `'${table}', (SELECT count(*)::int FROM ${table} WHERE tenant_id = $1)`,
    );
    const { rows } = await database.client.query<{ counts: Record<string, number> }>(
      `SELECT jsonb_build_object(${counts.slice(0, 40).join()}) || jsonb_build_object(${counts.slice(40).join()}) AS counts`,
      [tenant],
    );
    return rows[0]?.counts ?? {};
  }

  /** Removes everything, as a controller does that looks again and again. @returns what was left in between */
  async function removeAll(tenant: string): Promise<readonly TenantRest[]> {
    const seen: TenantRest[] = [];
    const problems: unknown[] = [];
    await waitFor(async () => {
      const rest = await database.store.tenants.remove(tenant).catch((error: unknown) => {
        problems.push(error);
        return undefined;
      });
      if (rest) seen.push(rest);
      return rest === undefined;
    });
    expect(problems).toEqual([]);
    return seen;
  }

  const kept = async (tenant: string) =>
    Object.entries(await rowsOf(tenant)).flatMap(([table, rows]) => (rows > 0 ? [table] : []));

  it('empties every table of the schema that has rows of the tenant, and takes none of another', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    for (const tenant of [one, other]) await fill(tenant);
    expect((await kept(one)).sort()).toEqual([...tables.keys()].sort());
    const before = await rowsOf(other);
    await removeAll(one);
    expect((await kept(one)).sort()).toEqual(LEFT_TO_TIDYING);
    expect(await rowsOf(other)).toEqual(before);
    // progress and files of exports are found by the archive alone
    expect(await database.store.tenants.remove(one)).toBeUndefined();
  });

  it('refuses keys and hides projects before it removes their rows, and reports the rest', async () => {
    const tenant = randomUUID();
    await fill(tenant);
    const { key } = await database.store.apiKeys.mint(tenant, { name: 'n', scope: 'workspace' });
    const rest = await database.store.tenants.remove(tenant);
    expect(rest).toEqual({ kind: 'projects', projects: 3 });
    expect(await database.store.apiKeys.verify(key)).toBeUndefined();
    expect(await database.store.projects.find(tenant, { name: 'p0' })).toBeUndefined();
    await removeAll(tenant);
  });

  it('continues in another process after one that ended, and removes large tables in pieces', async () => {
    const tenant = randomUUID();
    await fill(tenant);
    await database.client.query(
      `INSERT INTO ingest_problems (tenant_id, project_id, kind, type, message)
      SELECT $1, gen_random_uuid(), 'dropped', 'x', 'x' FROM generate_series(1, 25000)`,
      [tenant],
    );
    const first = database.another();
    expect(await first.tenants.remove(tenant)).toEqual({ kind: 'projects', projects: 3 });
    await first.close();
    const seen = (await removeAll(tenant)).map((rest) => (rest.kind === 'rows' ? rest.table : rest.kind));
    expect(seen).toContain('ingest_problems');
    expect((await kept(tenant)).sort()).toEqual(LEFT_TO_TIDYING);
  });
});
