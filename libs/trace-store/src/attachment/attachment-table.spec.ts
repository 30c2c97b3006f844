import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import { AttachmentTable } from './attachment-table.js';

const TENANT = randomUUID();
const VERSIONS = 5_000;

describe('looking for the attachment of an example', () => {
  let pool: Pool;
  afterAll(() => pool.end());
  const database = testTraceStore();
  const [id, old, newest, unused] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

  const find = (objectId: string) => new AttachmentTable(pool).find(TENANT, id, objectId);
  /** Rows of versions that the last statements of the one connection have read. */
  const rowsRead = async (): Promise<number> => {
    await pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ read: number }>(
      `SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables
      WHERE relname = 'example_versions'`,
    );
    return rows[0]?.read ?? 0;
  };

  beforeAll(async () => {
    const log = createLogger('test', 'silent');
    pool = openPool({ uri: database.uri, applicationName: 'attachments', log, maxConnections: 1 });
    const dataset = await database.store.datasets.create(TENANT, { name: 'd', dataType: 'kv' });
    await pool.query(
      `INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, until, id, created_at, splits, attachments)
      SELECT $1, $2, 1, '2026-11-20'::timestamptz + n * interval '1 s', '2026-11-21', $3, '2026-11-20', '{base}',
        CASE n WHEN 1 THEN jsonb_build_object('a', jsonb_build_object('object', $4::text, 'type', 'text/plain'))
          WHEN ${VERSIONS} THEN jsonb_build_object('b', jsonb_build_object('object', $5::text, 'type', 'text/html'))
          ELSE '{"c": {"object": "x", "type": "image/png"}}' END
      FROM generate_series(1, ${VERSIONS}) AS n`,
      [TENANT, dataset.id, id, old, newest],
    );
    // of other examples
    await pool.query(
      `INSERT INTO example_versions (tenant_id, dataset_id, ordinal, since, id, created_at, splits)
      SELECT $1, $2, n, '2026-11-20', gen_random_uuid(), '2026-11-20', '{base}' FROM generate_series(2, 30000) AS n`,
      [TENANT, dataset.id],
    );
    await pool.query(
      `INSERT INTO example_attachments (tenant_id, dataset_id, ordinal, object_id)
      SELECT $1, $2, 1, unnest($3::uuid[])`,
      [TENANT, dataset.id, [old, newest]],
    );
    await pool.query(
      `INSERT INTO attachment_objects (tenant_id, id, state, size, sha256)
      SELECT $1, o, 'stored', 7, decode(md5(o::text) || md5(o::text), 'hex') FROM unnest($2::uuid[]) AS o`,
      [TENANT, [old, newest, unused]],
    );
    await pool.query('ANALYZE example_versions');
  });

  it('finds it in any version', async () => {
    expect(await find(old)).toEqual({
      runId: id,
      name: 'a',
      contentType: 'text/plain',
      objectId: old,
      size: 7,
    });
    expect(await find(newest)).toMatchObject({ name: 'b', contentType: 'text/html' });
  });

  it('begins with the newest version, and reads none for an object that no example refers to', async () => {
    const before = await rowsRead();
    expect(await find(unused)).toBeUndefined();
    expect(await rowsRead()).toBe(before);
    await find(newest);
    expect((await rowsRead()) - before).toBeLessThan(10);
  });

  it('refuses in plain words what takes too long', async () => {
    const { client } = database;
    await client.query('BEGIN; LOCK TABLE example_versions');
    await expect(find(old)).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('took longer than 2 s: ask for the example again'),
    });
    await client.query('ROLLBACK');
  });
});
