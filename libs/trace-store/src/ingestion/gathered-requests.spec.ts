import { randomUUID } from 'node:crypto';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import pg from 'pg';
import { openTraceStore } from '../open-trace-store.js';
import type { TraceStore } from '../trace-store.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();

describe('the transaction of several requests', () => {
  let store: TraceStore;
  let client: pg.Client;
  const tenant = randomUUID();
  const operation = (run: object) => ({ run: Buffer.from(JSON.stringify(run)) });
  const run = (more: object = {}) => ({
    id: randomUUID(),
    name: 'a',
    run_type: 'llm',
    session_name: 'one',
    start_time: '2026-11-20T10:00:00Z',
    ...more,
  });
  const send = (runs: readonly object[], own?: string) =>
    store.ingest(tenant, { post: runs.map(operation), patch: [] }, own);
  const count = async (): Promise<number> =>
    Number((await client.query('SELECT count(*) AS n FROM runs WHERE tenant_id = $1', [tenant])).rows[0].n);

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
    await store.migrate();
    client = new pg.Client(uri);
    await client.connect();
    await send([run()]);
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });

  it('answers each request for its own runs', async () => {
    const [before, stored] = [await transactions(), await count()];
    const results = await Promise.all(
      Array.from({ length: 30 }, (_one, n) =>
        send(n % 3 === 0 ? [run(), run({ start_time: 'never' })] : [run()]),
      ),
    );
    expect(results.map(({ accepted, refused }) => [accepted, refused.length])).toEqual(
      Array.from({ length: 30 }, (_one, n) => [1, n % 3 === 0 ? 1 : 0]),
    );
    expect(await count()).toBe(stored + 30);
    expect((await transactions()) - before).toBeLessThan(15);
  });

  it('refuses one request alone that may not be stored', async () => {
    await send([run({ session_name: 'mine' })], 'mine');
    const stored = await count();
    const results = await Promise.allSettled([
      send([run({ session_name: 'mine' })], 'mine'),
      send([run({ session_name: 'mine' })], 'mine'),
      send([run({ session_name: 'other' })], 'mine'),
      send([run()], 'mine').catch((error: Error) => error.name),
      send([run({ session_name: undefined })], 'mine'),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await count()).toBe(stored + 3);
  });

  it('keeps requests apart that name one run', async () => {
    const id = randomUUID();
    const results = await Promise.all([
      send([run()]),
      send([run({ id })]),
      send([run({ id, session_name: 'two' }), run()]),
      send([run({ id })]),
    ]);
    expect(results.map(({ accepted, refused }) => [accepted, refused.map(({ type }) => type)])).toEqual([
      [1, []],
      [1, []],
      [1, ['other_project']],
      [1, []],
    ]);
  });

  it('merges creates and updates of a run that come at once, in any order', async () => {
    const runs = Array.from({ length: 20 }, () => run());
    await Promise.all([
      send([run()]),
      ...runs.flatMap(({ id, ...first }) => [
        store.ingest(tenant, { post: [], patch: [operation({ id, end_time: '2026-11-20T10:00:01Z' })] }),
        send([{ id, ...first }]),
      ]),
    ]);
    const { rows } = await client.query(
      'SELECT count(*)::int AS n FROM runs WHERE id = ANY ($1) AND end_time IS NOT NULL',
      [runs.map(({ id }) => id)],
    );
    expect(rows).toEqual([{ n: 20 }]);
  });

  /** Number of transactions that have written. */
  async function transactions(): Promise<number> {
    const { rows } = await client.query('SELECT pg_current_xact_id()::text::int AS n');
    return rows[0].n;
  }
});
