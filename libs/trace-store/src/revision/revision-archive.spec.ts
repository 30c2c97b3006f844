import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { RevisionArchiveTable } from './revision-archive-table.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

describe('the archive of revisions', () => {
  const postgres = testPostgres();
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

  const anOwner = () => ({ tenantId: randomUUID(), deploymentId: randomUUID() });
  const aRevision = (number: number, status = 'DEPLOYED') => ({
    id: randomUUID(),
    number,
    status,
    object: JSON.stringify({ number }),
  });

  it('finds a revision with its outputs, and keeps other tenants and deployments out', async () => {
    const [owner, one] = [anOwner(), aRevision(1)];
    await store.revisionArchive.store(owner, one, 'printed');
    expect(await store.revisionArchive.find(owner, one.id)).toEqual(one);
    expect(await store.revisionArchive.findOutputs(owner, one.id)).toBe('printed');
    for (const other of [
      { ...owner, tenantId: randomUUID() },
      { ...owner, deploymentId: randomUUID() },
    ]) {
      expect(await store.revisionArchive.find(other, one.id)).toBeUndefined();
      expect(await store.revisionArchive.findOutputs(other, one.id)).toBeUndefined();
      expect(await store.revisionArchive.list(other, { except: [], offset: 0, limit: 10 })).toEqual([]);
      expect(await store.revisionArchive.count(other, [])).toBe(0);
      expect(await store.revisionArchive.among(other, [one.id])).toEqual([]);
      await store.revisionArchive.forget(other);
    }
    expect(await store.revisionArchive.count(owner, [])).toBe(1);
  });

  it('stores a revision once, as it was last, and none in the place of another number', async () => {
    const [owner, one] = [anOwner(), aRevision(1)];
    await store.revisionArchive.store(owner, one, undefined);
    await store.revisionArchive.store(owner, { ...one, status: 'DEPLOY_FAILED' }, 'printed');
    await store.revisionArchive.store(owner, { ...one, number: 2, status: 'SKIPPED' }, undefined);
    const listed = await store.revisionArchive.list(owner, { except: [], offset: 0, limit: 10 });
    expect(listed).toEqual([{ ...one, status: 'DEPLOY_FAILED' }]);
    expect(await store.revisionArchive.findOutputs(owner, one.id)).toBe('printed');
  });

  it('lists the newest first, by page, by status, and without those that are named', async () => {
    const owner = anOwner();
    const all = [1, 2, 3, 4].map((number) => aRevision(number, number === 2 ? 'SKIPPED' : 'DEPLOYED'));
    for (const one of all) await store.revisionArchive.store(owner, one, undefined);
    const numbers = async (search: object) =>
      (await store.revisionArchive.list(owner, { except: [], offset: 0, limit: 10, ...search })).map(
        ({ number }) => number,
      );
    expect(await numbers({})).toEqual([4, 3, 2, 1]);
    expect(await numbers({ offset: 1, limit: 2 })).toEqual([3, 2]);
    expect(await numbers({ status: ['SKIPPED', 'DEPLOY_FAILED'] })).toEqual([2]);
    const except = [all[3]?.id ?? ''];
    expect(await numbers({ except })).toEqual([3, 2, 1]);
    expect(await store.revisionArchive.count(owner, except)).toBe(3);
    expect(await store.revisionArchive.among(owner, [...except, randomUUID()])).toEqual(except);
  });

  it('drops the oldest beyond its bounds, and all of a deployment that is deleted', async () => {
    const archive = new RevisionArchiveTable(pool, { revisions: 3, withOutputs: 1 });
    const [owner, other] = [anOwner(), anOwner()];
    const kept = aRevision(1);
    await archive.store(other, kept, 'printed');
    // the newest first, as after an interruption
    const all = [4, 3, 2, 1].map((number) => aRevision(number));
    for (const one of all) await archive.store(owner, one, `printed by ${one.number}`);
    const listed = await archive.list(owner, { except: [], offset: 0, limit: 10 });
    expect(listed.map(({ number }) => number)).toEqual([4, 3, 2]);
    const outputs = await Promise.all(listed.map(({ id }) => archive.findOutputs(owner, id)));
    expect(outputs).toEqual(['printed by 4', undefined, undefined]);
    await archive.forget(owner);
    expect(await archive.count(owner, [])).toBe(0);
    expect(await archive.findOutputs(other, kept.id)).toBe('printed');
  });
});
