import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { formatInstant, systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';

describe('the archive of exports', () => {
  const postgres = testPostgres();
  const tenant = randomUUID();
  const source = randomUUID();
  let store: TraceStore;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    store = openTraceStore({ uri, log: createLogger('test', 'error'), clock: systemClock });
    await store.migrate();
  });
  afterAll(() => store.close());

  const anExport = (number: number, over: object = {}) => ({
    id: randomUUID(),
    name: `x${number}`,
    createdAt: `2026-05-01T0${number}:00:00Z`,
    status: 'COMPLETED',
    projectId: randomUUID(),
    sourceId: source,
    windowEnd: `2026-05-01T0${number}:00:00Z`,
    object: JSON.stringify({ number }),
    ...over,
  });
  const aRun = () => ({
    id: randomUUID(),
    uid: randomUUID(),
    startTime: '2026-05-01T00:00:00Z',
    object: '{}',
  });

  it('stores an export once with its runs, finds it, and keeps other tenants out', async () => {
    const [ended, run] = [anExport(1), aRun()];
    await store.exportArchive.store(tenant, ended, [run]);
    await store.exportArchive.store(tenant, ended, [run]);
    expect(await store.exportArchive.find(tenant, ended.id)).toMatchObject({
      ...ended,
      createdAt: expect.stringMatching(/^2026-05-01 01:00/),
      windowEnd: expect.anything(),
    });
    expect((await store.exportArchive.runs(tenant, ended.id)).map(({ uid }) => uid)).toEqual([run.uid]);
    const stranger = randomUUID();
    expect(await store.exportArchive.find(stranger, ended.id)).toBeUndefined();
    expect(await store.exportArchive.runs(stranger, ended.id)).toEqual([]);
    expect(await store.exportArchive.lastWindowEnd(stranger, source)).toBeUndefined();
  });

  it('lists newest first, by page and by what is wanted', async () => {
    const other = randomUUID();
    const all = [1, 2, 3, 4].map((number) =>
      anExport(number, { status: number === 2 ? 'FAILED' : 'COMPLETED' }),
    );
    for (const one of all) await store.exportArchive.store(other, one, []);
    const names = async (search: object) =>
      (await store.exportArchive.list(other, { except: [], offset: 0, limit: 10, ...search })).map(
        ({ name }) => name,
      );
    expect(await names({})).toEqual(['x4', 'x3', 'x2', 'x1']);
    expect(await names({ offset: 1, limit: 2 })).toEqual(['x3', 'x2']);
    expect(await names({ except: [all[3]?.id] })).toEqual(['x3', 'x2', 'x1']);
    expect(await names({ statuses: ['FAILED'] })).toEqual(['x2']);
    expect(await names({ sourceId: randomUUID() })).toEqual([]);
    const until = await store.exportArchive.lastWindowEnd(other, source);
    expect(until === undefined ? '' : formatInstant(until, 'if-any')).toBe('2026-05-01T04:00:00Z');
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
