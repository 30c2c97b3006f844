import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { inTransaction } from '../in-limited-transaction.js';
import { openPool, type Pool } from '../open-pool.js';
import { postgresTrouble } from '../postgres-trouble.js';
import { CopyBinaryReader } from './copy-binary-reader.js';
import { CopyBinaryWriter } from './copy-binary-writer.js';
import { copyIn } from './copy-in.js';
import { copyOut } from './copy-across.js';

const postgres = testPostgres();
const ID = '11111111-2222-4333-8444-555555555555';
const COLUMNS = ['id', 'name', 'at', 'n', 'ok', 'cost', 'ids', 'tags'];

describe('the COPY codec', () => {
  let pool: Pool;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    pool = openPool({
      uri,
      applicationName: 'copying',
      settings: { timezone: 'UTC' },
      log: createLogger('test', 'silent'),
    });
    await pool.query(`CREATE TABLE t (id uuid, name text, at timestamptz, n bigint, ok boolean,
      cost numeric(18,10), ids uuid[], tags text[])`);
  });
  afterAll(() => pool.end());

  const rows = (): CopyBinaryWriter =>
    new CopyBinaryWriter()
      .row(8)
      .uuid(ID)
      .text('ä'.repeat(20_000))
      .time(1_763_676_000_123_456n)
      .int8(-7)
      .bool(true)
      .numeric('12345678.0000000001')
      .uuids([ID])
      .texts(['a', ''])
      .row(8)
      .uuid(undefined)
      .text('')
      .time(-1n)
      .int8(undefined)
      .bool(false)
      .numeric('0')
      .uuids([])
      .texts([]);

  it('writes rows that Postgres reads as they were', async () => {
    await inTransaction(pool, (connection) =>
      copyIn(connection, [{ table: 't', columns: COLUMNS, rows: rows() }]),
    );
    const { rows: found } = await pool.query(
      `SELECT id, length(name) AS length, at::text, n, ok, cost::text, ids::text, tags::text FROM t ORDER BY at DESC`,
    );
    expect(found).toEqual([
      {
        id: ID,
        length: 20_000,
        at: '2025-11-20 22:00:00.123456+00',
        n: '-7',
        ok: true,
        cost: '12345678.0000000001',
        ids: `{${ID}}`,
        tags: '{a,""}',
      },
      {
        id: null,
        length: 0,
        at: '1969-12-31 23:59:59.999999+00',
        n: null,
        ok: false,
        cost: '0.0000000000',
        ids: '{}',
        tags: '{}',
      },
    ]);
  });

  it('stores nothing when the transaction is rolled back', async () => {
    await pool.query('TRUNCATE t');
    const work = inTransaction(pool, async (connection) => {
      await copyIn(connection, [{ table: 't', columns: COLUMNS, rows: rows() }]);
      throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    expect((await pool.query('SELECT FROM t')).rowCount).toBe(0);
  });

  it('reads back what Postgres sends, field by field', async () => {
    const connection = await pool.connect();
    const reader = new CopyBinaryReader(3);
    const texts: (string | undefined)[] = [];
    const query = `SELECT i::text, NULL::text, repeat('x', i) FROM generate_series(1, 3000) AS g(i) ORDER BY i`;
    await pipeline(copyOut(connection, query), async (chunks) => {
      for await (const chunk of chunks) {
        reader.push(chunk as Buffer);
        while (reader.next()) {
          const [at = 0, , last = 0] = reader.offsets;
          const [length = 0, none = 0, lastLength = 0] = reader.lengths;
          expect(none).toBe(-1);
          expect(lastLength).toBe(Number(reader.bytes.toString('latin1', at, at + length)));
          texts.push(reader.bytes.toString('latin1', last, last + 1));
        }
      }
    });
    connection.release();
    expect(reader.isFinished).toBe(true);
    expect(texts).toEqual(Array.from({ length: 3000 }, () => 'x'));
  });

  it('fails as unavailable when the connection ends in the middle', async () => {
    const connection = await pool.connect();
    const lock = await pool.connect();
    await lock.query('BEGIN; LOCK t IN ACCESS EXCLUSIVE MODE');
    const copying = copyIn(connection, [{ table: 't', columns: COLUMNS, rows: rows() }]).then(
      () => undefined,
      (error: unknown) => error,
    );
    // Another connection asks: inside one transaction pg_stat_activity stays as it was first read.
    await waitFor(async () => {
      const { rows: waiting } = await pool.query<{ pid: number }>(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY t %' AND wait_event_type = 'Lock'`,
      );
      return waiting.length === 1;
    });
    const error = await copying;
    lock.release(true);
    connection.release(true);
    expect(postgresTrouble(error)).toBe('unavailable');
  });
});
