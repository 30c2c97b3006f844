import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { Database } from './database.js';

describe('the database of an agent server', () => {
  const postgres = testPostgres();
  let database: Database;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    database = new Database(uri, 2, createLogger('test', 'silent'));
  });
  afterAll(() => database.close());

  it('outlives connections that break while they are lent out', async () => {
    const client = await database.pool.connect();
    const heard = new Promise((resolve) => client.once('error', resolve));
    await client.query('BEGIN');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    // one listener is the pool's own for idle connections, taken off while they are lent out, and one is this test's
    expect(client.listenerCount('error')).toBe(2);
    await database.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await heard;
    await expect(client.query('SELECT 1')).rejects.toThrow();
    client.release(true);
    await waitFor(async () => (await database.pool.query('SELECT 1')).rowCount === 1);
  });
});
