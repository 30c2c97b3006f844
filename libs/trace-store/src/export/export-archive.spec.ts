import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { formatInstant, systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { ExportArchiveTable } from './export-archive-table.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

describe('the archive of exports', () => {
  const postgres = testPostgres();
  const tenant = randomUUID();
  const source = randomUUID();
  let store: TraceStore;
  let pool: Pool;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const log = createLogger('test', 'error');
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    pool = openPool({ uri, applicationName: 'test', log, maxConnections: 2 });
  });
  afterAll(async () => {
    await pool.end();
    await store.close();
  });

  const anExport = (number: number, over: object = {}) => ({
    id: randomUUID(),
    name: `x${number}`,
    createdAt: `2026-05-01T0${number}:00:00Z`,
    status: 'COMPLETED',
    projectId: randomUUID(),
    sourceId: source,
    windowEnd: `2026-05-01T0${number}:00:00Z`,
    object: JSON.stringify({ number, rest: 'x'.repeat(500) }),
    small: JSON.stringify({ number }),
    ...over,
  });
  const aRun = () => ({
    id: randomUUID(),
    uid: randomUUID(),
    startTime: '2026-05-01T00:00:00Z',
    object: '{"full":true}',
    small: '{}',
  });

  it('stores an export once with its runs, finds it, and keeps other tenants out', async () => {
    const [ended, run] = [anExport(1), aRun()];
    await store.exportArchive.store(tenant, ended, [run]);
    await store.exportArchive.store(tenant, ended, [run]);
    const { small: _, ...stored } = ended;
    expect(await store.exportArchive.find(tenant, ended.id)).toMatchObject({
      ...stored,
      createdAt: expect.stringMatching(/^2026-05-01 01:00/),
      windowEnd: expect.anything(),
    });
    expect((await store.exportArchive.runs(tenant, ended.id)).map(({ uid }) => uid)).toEqual([run.uid]);
    const stranger = randomUUID();
    expect(await store.exportArchive.find(stranger, ended.id)).toBeUndefined();
    expect(await store.exportArchive.runs(stranger, ended.id)).toEqual([]);
    expect(await store.exportArchive.lastWindowEnd(stranger, source)).toBeUndefined();
  });

  it('reads no more runs of an export than are asked for', async () => {
    const ended = anExport(1);
    const runs = [1, 2, 3].map((day) => ({ ...aRun(), startTime: `2026-05-0${day}T00:00:00Z` }));
    await store.exportArchive.store(tenant, ended, runs.toReversed());
    const ids = async (part: object) =>
      (await store.exportArchive.runs(tenant, ended.id, part)).map(({ id }) => id);
    const [first, second, third] = runs.map(({ id }) => id);
    expect(await ids({})).toEqual([first, second, third]);
    expect(await ids({ offset: 1, limit: 1 })).toEqual([second]);
    expect(await ids({ offset: 2 })).toEqual([third]);
    expect(await ids({ id: third })).toEqual([third]);
    expect(await ids({ id: randomUUID() })).toEqual([]);
  });

  it('lists newest first, by page and by what is wanted', async () => {
    const other = randomUUID();
    const all = [1, 2, 3, 4].map((number) =>
      anExport(number, { status: number === 2 ? 'FAILED' : 'COMPLETED' }),
    );
    const place = (at: number) => all[at] ?? anExport(0);
    for (const one of all) await store.exportArchive.store(other, one, []);
    const names = async (search: object) =>
      (await store.exportArchive.list(other, { except: [], offset: 0, limit: 10, ...search })).map(
        ({ name }) => name,
      );
    expect(await names({})).toEqual(['x4', 'x3', 'x2', 'x1']);
    expect(await names({ offset: 1, limit: 2 })).toEqual(['x3', 'x2']);
    expect(await names({ except: [all[3]?.id] })).toEqual(['x3', 'x2', 'x1']);
    expect(await names({ after: place(2) })).toEqual(['x2', 'x1']);
    expect(await names({ after: place(2), offset: 1 })).toEqual(['x1']);
    expect(await names({ status: 'FAILED' })).toEqual(['x2']);
    expect(await names({ sourceId: randomUUID() })).toEqual([]);
    const until = await store.exportArchive.lastWindowEnd(other, source);
    expect(until === undefined ? '' : formatInstant(until, 'if-any')).toBe('2026-05-01T04:00:00Z');
  });

  it('finds the newest of a name', async () => {
    const other = randomUUID();
    const [former, newest] = [1, 2].map((number) => anExport(number, { name: 'same' }));
    for (const one of [newest, former]) if (one) await store.exportArchive.store(other, one, []);
    expect((await store.exportArchive.findNamed(other, 'same'))?.id).toBe(newest?.id);
    expect(await store.exportArchive.findNamed(randomUUID(), 'same')).toBeUndefined();
  });

  it('keeps small records alone beyond the bytes of a tenant, and finds every id', async () => {
    const archive = new ExportArchiveTable(pool, 3_000);
    const other = randomUUID();
    const all = [1, 2, 3, 4].map((number) => ({ ended: anExport(number), run: aRun() }));
    for (const { ended, run } of all) {
      await store.exportProgress.claim(run.uid, 1);
      await archive.store(other, ended, [run]);
    }
    const found = await Promise.all(
      all.map(async ({ ended, run }) => ({
        object: (await archive.find(other, ended.id))?.object === ended.object ? 'full' : 'small',
        runs: (await archive.runs(other, ended.id)).map(({ id, object }) => `${id === run.id} ${object}`),
        hasProgress: (await store.exportProgress.find(run.uid)) !== undefined,
      })),
    );
    const full = { object: 'full', runs: ['true {"full":true}'], hasProgress: true };
    const small = { object: 'small', runs: ['true {}'], hasProgress: false };
    expect(found).toEqual([small, small, full, full]);
    const listed = await archive.list(other, { except: [], offset: 0, limit: 10 });
    expect(listed.map(({ id }) => id)).toEqual(all.map(({ ended }) => ended.id).reverse());
    expect(listed.at(-1)?.object).toBe('{"number":1}');
  });

  it('ends a list that takes too long', async () => {
    const lock = await pool.connect();
    try {
      await lock.query('BEGIN; LOCK TABLE archived_exports IN ACCESS EXCLUSIVE MODE');
      await expect(
        store.exportArchive.list(tenant, { except: [], offset: 0, limit: 10 }),
      ).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringMatching(/^Listing these exports took longer than 5 s/),
      });
    } finally {
      await lock.query('ROLLBACK');
      lock.release();
    }
  });

  it('lists by an index in the order of the answer', async () => {
    const { rows } = await pool.query<{ indexdef: string }>(
      `SELECT indexdef FROM pg_indexes WHERE tablename = 'archived_exports' AND indexdef LIKE '%created_at DESC, name DESC, id DESC)%'`,
    );
    expect(rows).toHaveLength(6);
  });

  it('keeps progress and files of archived runs when they are forgotten', async () => {
    const [archived, plain] = [aRun(), aRun()];
    for (const { uid } of [archived, plain]) await store.exportProgress.claim(uid, 1);
    await store.exportArchive.store(tenant, anExport(5), [archived]);
    await store.exportProgress.forget([archived.uid, plain.uid]);
    expect(await store.exportProgress.find(archived.uid)).toBeDefined();
    expect(await store.exportProgress.find(plain.uid)).toBeUndefined();
  });
});
