import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore, warnOfOpenDatabases } from './index.js';

describe('databases that every role may connect to', () => {
  // before the hook that ends their Postgres
  afterAll(async () => {
    await client.end();
    await store.close();
  });
  const postgres = testPostgres();
  const log = createLogger('test', 'silent');
  let store: TraceStore;
  let client: pg.Client;
  let name: string;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    name = new URL(uri).pathname.slice(1);
    store = openTraceStore({ uri, poolSize: 2, log, clock: systemClock });
    client = new pg.Client({ connectionString: uri });
    await client.connect();
  });
  it('names them with the statement that closes them, until it has run', async () => {
    const warned: { databases: readonly string[]; mend: string }[] = [];
    const listening = Object.assign(Object.create(log) as typeof log, {
      warn: (fields: { databases: readonly string[]; mend: string }) => warned.push(fields),
    });
    await warnOfOpenDatabases(store, listening);
    const [first] = warned;
    expect(first?.databases).toEqual([name, 'postgres', 'template1'].toSorted());
    await client.query(`REVOKE CONNECT ON DATABASE postgres FROM PUBLIC`);
    expect(await store.openDatabases()).toEqual([name, 'template1'].toSorted());
    await client.query(first?.mend ?? '');
    await warnOfOpenDatabases(store, listening);
    expect(warned.length).toBe(1);
  });
});
