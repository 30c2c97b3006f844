import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { loadControlSchema } from '../control-schema.js';
import { ControlTables } from './control-tables.js';
import { openTraceStore } from '../open-trace-store.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'silent');
const TENANT = randomUUID();

describe('a set of control tables', () => {
  let uri: string;
  let pool: Pool;
  let control: ControlTables;
  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    pool = openPool({ uri, applicationName: 'control', maxConnections: 2, log });
    control = new ControlTables(pool, loadControlSchema);
    await control.migrate();
  });
  afterAll(() => pool.end());

  it('agrees with its entities', async () => {
    const source = await control.source();
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('keeps its rows when its migrations are applied again', async () => {
    await pool.query(`INSERT INTO projects (tenant_id, name) VALUES ($1, 'kept')`, [TENANT]);
    await control.migrate();
    expect((await pool.query(`SELECT FROM projects WHERE name = 'kept'`)).rowCount).toBe(1);
  });

  it('leaves the pool open when it is closed', async () => {
    const other = new ControlTables(pool, loadControlSchema);
    await other.migrate();
    await other.close();
    expect((await pool.query('SELECT 1')).rowCount).toBe(1);
  });
});

describe('a trace store', () => {
  it('opens no more connections than its one pool allows', async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const store = openTraceStore({ uri, poolSize: 2, log, clock: systemClock });
    await store.migrate();
    const watcher = openPool({ uri, applicationName: 'watcher', maxConnections: 1, log });
    const names = async (): Promise<string[]> => {
      const { rows } = await watcher.query<{ name: string }>(
        `SELECT application_name AS name FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      return rows.map(({ name }) => name);
    };
    let isOver = false;
    const work = Promise.all(
      Array.from({ length: 40 }, async (_value, i) => {
        const { id } = await store.projects.ensure(TENANT, `project ${i}`);
        await store.apiKeys.mint(TENANT, { name: `key ${i}`, scope: 'workspace' });
        await store.projects.list(TENANT);
        await store.databaseTime();
        await store.projects.delete(TENANT, id);
      }),
    ).finally(() => (isOver = true));
    let most = 0;
    while (!isOver) {
      const open = await names();
      most = Math.max(most, open.length);
      expect(open.filter((name) => name !== 'agentplane trace store')).toEqual([]);
    }
    await work;
    expect(most).toBeLessThanOrEqual(2);
    await store.close();
    await watcher.end();
  });
});
