import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parquetMetadata } from 'hyparquet';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { Killed, Steps } from '../../testdata/killed-steps.js';
import { type PublishedTable, readTable } from '../../testdata/published-table.js';
import { testLake } from '../../testdata/test-lake.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { Lake, LakeTable, TraceStore } from '../index.js';
import { SegmentReader } from '../lake/segment-reader.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import { DaySealer } from './sealer.js';

const SIGNAL = new AbortController().signal;
const DAYS = ['2026-11-20', '2026-11-21'];

describe('the table of sealed days', () => {
  const lake = testLake();
  const database = testTraceStore();
  let store: TraceStore;
  let pool: Pool;
  beforeAll(() => {
    store = database.another({ lake: lake.options });
    const log = createLogger('test', 'silent');
    const settings = { timezone: 'UTC', datestyle: 'ISO', bytea_output: 'hex' };
    pool = openPool({ uri: database.uri, applicationName: 'sealer', settings, log, maxConnections: 4 });
  });
  afterAll(async () => {
    await pool.end();
    await store.close();
  });

  interface Sent {
    readonly id?: string;
    readonly day?: string;
    readonly tier?: string;
  }
  async function post(tenant: string, sent: readonly Sent[]): Promise<string[]> {
    const operations = sent.map(({ id = randomUUID(), day = DAYS[0], tier }) => {
      const run = { id, trace_id: id, name: 'n', run_type: 'llm', start_time: `${day}T10:00:00Z` };
      return {
        id,
        run: Buffer.from(JSON.stringify({ ...run, ...(tier ? { trace_tier: tier } : {}) })),
        fields: { inputs: Buffer.from(`"${id}"`) },
      };
    });
    expect((await store.ingest(tenant, { post: operations, patch: [] })).refused).toEqual([]);
    return operations.map(({ id }) => id).sort();
  }

  const need = (of: TraceStore): Lake => {
    if (!of.lake) throw new Error('the store has a lake');
    return of.lake;
  };
  /** Seals what is due; the second look finds that nothing has changed since the first. */
  async function sealAll(): Promise<void> {
    for (let look = 0; look < 2; look++) await need(store).look();
    while (await need(store).sealNext({ signal: SIGNAL }));
  }
  const publish = () => need(store).publish({ signal: SIGNAL });
  async function sealAndPublish(): Promise<void> {
    await sealAll();
    await publish();
  }
  const projectOf = async (tenant: string) => (await store.projects.ensure(tenant, 'default')).id;
  const find = async (tenant: string) => readTable(lake.options, tenant, await projectOf(tenant));
  async function read(tenant: string): Promise<PublishedTable> {
    const table = await find(tenant);
    if (!table) throw new Error('the table was published');
    return table;
  }
  async function row(tenant: string): Promise<LakeTable | undefined> {
    return (await need(store).tables(tenant))[0];
  }
  const objectsOf = async (tenant: string) => (await lake.keys()).filter((key) => key.includes(tenant));
  async function tidyAfterHours(): Promise<void> {
    await database.client.query(`UPDATE lake_segments SET former_since = former_since - interval '2 hours'`);
    await database.client.query(`UPDATE lake_garbage SET since = since - interval '2 hours'`);
    await need(store).tidy();
  }
  /** A worker that dies before a step. */
  function mortal(step: number): DaySealer {
    const steps = new Steps({ step, change: undefined }, () => Promise.resolve());
    const options = { ...lake.options, store: steps.store(lake.options.store) };
    const log = createLogger('test', 'silent');
    const payloads = new PostgresPayloadStore(new SegmentReader(options));
    return new DaySealer({ pool: steps.pool(pool), payloads, options, log, clock: systemClock });
  }
  /** @returns whether it died */
  async function dies(work: Promise<unknown>): Promise<boolean> {
    try {
      await work;
      return false;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      return true;
    }
  }

  it('has the runs of all sealed days, in files whose columns have the ids of its schema', async () => {
    const tenant = randomUUID();
    const ids = await post(tenant, [{}, {}, { day: DAYS[1] ?? '', tier: 'shortlived' }]);
    expect(await row(tenant)).toBeUndefined();
    await sealAndPublish();
    const table = await read(tenant);
    expect(table.ids).toEqual(ids);
    expect(table.files).toHaveLength(2);
    expect(table.metadata).toMatchObject({ 'format-version': 2, 'table-uuid': await projectOf(tenant) });
    expect(table.metadata.properties['comment']).toMatch(/as they were when their day was sealed/);
    expect(table.metadata.snapshots).toMatchObject([
      { summary: { operation: 'overwrite', 'total-records': '3', 'total-data-files': '2' } },
    ]);
    const { store: objects, bucket } = lake.options;
    const file = new Uint8Array(await buffer(await objects.get(bucket, table.files[0] ?? ''))).buffer;
    const columns = parquetMetadata(file).schema.filter(({ field_id }) => field_id !== undefined);
    expect(columns.map(({ name, field_id }) => [name, field_id])).toEqual(
      expect.arrayContaining([
        ['id', 1],
        ['inputs', 28],
        ['serialized', 30],
      ]),
    );
    expect(await row(tenant)).toMatchObject({ version: 1, behindSince: null, error: null });
    await publish();
    expect((await read(tenant)).version).toBe(1);
  });

  it('has each run once when its day is sealed again, and loses former objects after an hour', async () => {
    const tenant = randomUUID();
    const before = await post(tenant, [{}]);
    await sealAndPublish();
    const former = await read(tenant);
    const ids = [...before, ...(await post(tenant, [{}]))].sort();
    await sealAndPublish();
    const table = await read(tenant);
    expect([table.version, table.ids, table.metadata.snapshots.length]).toEqual([2, ids, 1]);
    // one that was opened before can still be read
    await need(store).tidy();
    expect(await objectsOf(tenant)).toEqual(expect.arrayContaining([...former.objects, ...former.files]));
    await tidyAfterHours();
    expect(await objectsOf(tenant)).toEqual([...table.objects, ...table.files].sort());
  });

  it('waits for days of its project that are due', async () => {
    const tenant = randomUUID();
    const [first = ''] = await post(tenant, [{}]);
    await sealAndPublish();
    const [second = '', third = ''] = [
      ...(await post(tenant, [{}])),
      ...(await post(tenant, [{ day: DAYS[1] ?? '' }])),
    ];
    for (let look = 0; look < 2; look++) await need(store).look();
    expect(await need(store).sealNext({ signal: SIGNAL })).toMatchObject({ tenantId: tenant });
    await publish();
    expect((await read(tenant)).version).toBe(1);
    expect(await need(store).sealNext({ signal: SIGNAL })).toMatchObject({ tenantId: tenant });
    await publish();
    expect((await read(tenant)).ids).toEqual([first, second, third].sort());
  });

  it('survives a worker that dies before any statement or request of a publication', async () => {
    const tenant = randomUUID();
    let ids: string[] = [];
    let hasDied = true;
    for (let step = 0; hasDied; step++) {
      ids = [...ids, ...(await post(tenant, [{}]))].sort();
      await sealAll();
      hasDied = await dies(mortal(step).publish({ signal: SIGNAL }));
      // all that it names is there
      const left = await find(tenant);
      expect([ids, ids.slice(0, -1), undefined].map((one) => one?.length)).toContain(left?.ids.length);
      if (hasDied) await database.client.query('UPDATE lake_tables SET next_at = NULL');
      await publish();
      const table = await read(tenant);
      expect(table.ids).toEqual(ids);
      expect(await row(tenant)).toMatchObject({ version: table.version, behindSince: null });
    }
    expect(ids.length).toBeGreaterThan(10);
    await tidyAfterHours();
    const { objects, files } = await read(tenant);
    expect(await objectsOf(tenant)).toEqual([...objects, ...files].sort());
  });

  it('leaves out files of a generation that its worker did not finish', async () => {
    const tenant = randomUUID();
    let ids = await post(tenant, [{}]);
    await sealAndPublish();
    let hasDied = true;
    for (let step = 0; hasDied; step += 3) {
      ids = [...ids, ...(await post(tenant, [{}]))].sort();
      for (let look = 0; look < 2; look++) await need(store).look();
      hasDied = await dies(mortal(step).sealNext({ signal: SIGNAL }));
      // the next one takes over the files that were written, and dies too
      const lease = `UPDATE lake_days SET sealing_since = sealing_since - interval '2 minutes'`;
      await database.client.query(lease);
      if (hasDied) await dies(mortal(8).sealNext({ signal: SIGNAL }));
      await database.client.query(lease);
      await database.client.query(
        `UPDATE lake_tables SET behind_since = now() - interval '1 hour', changes = changes + 1, next_at = NULL`,
      );
      await publish();
      const table = await read(tenant);
      expect(new Set(table.ids).size).toBe(table.ids.length);
      expect(table.ids.length).toBeGreaterThan(0);
      await sealAndPublish();
      expect((await read(tenant)).ids).toEqual(ids);
    }
  });

  it('notes why it could not be published, and is tried again', async () => {
    const tenant = randomUUID();
    const ids = await post(tenant, [{}]);
    await sealAll();
    lake.fail(({ method, key }) =>
      method === 'PUT' && key.includes('metadata.json') ? { kind: 'error', code: 'AccessDenied' } : undefined,
    );
    await expect(publish()).rejects.toThrow();
    lake.fail(undefined);
    const failed = await row(tenant);
    expect(failed).toMatchObject({ version: 0, attempts: 1, error: expect.stringMatching(/denied/i) });
    expect(failed?.nextAt?.getTime()).toBeGreaterThan(systemClock.now().getTime());
    expect(failed?.behindSince).toBeInstanceOf(Date);
    await publish();
    expect(await find(tenant)).toBeUndefined();
    await database.client.query('UPDATE lake_tables SET next_at = now()');
    expect(await need(store).look()).toBe(1);
    await publish();
    expect((await read(tenant)).ids).toEqual(ids);
    expect(await need(store).look()).toBe(0);
  });

  it('loses its rows when all of its runs have expired, and goes with its project', async () => {
    const tenant = randomUUID();
    await post(tenant, [{ tier: 'shortlived' }]);
    await sealAndPublish();
    await store.retention.set(tenant, { shortlivedDays: 1 });
    await store.tidy();
    await sealAndPublish();
    const table = await read(tenant);
    expect([table.version, table.files]).toEqual([2, []]);
    expect(table.metadata.snapshots[0]?.summary['total-records']).toBe('0');
    await store.projects.delete(tenant, await projectOf(tenant));
    await store.tidy();
    await tidyAfterHours();
    expect(await objectsOf(tenant)).toEqual([]);
    const { rows } = await database.client.query(
      'SELECT FROM lake_tables WHERE tenant_id = $1 UNION ALL SELECT FROM lake_table_files WHERE tenant_id = $1',
      [tenant],
    );
    expect(rows).toEqual([]);
  });
});
