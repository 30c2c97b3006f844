import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore } from './open-trace-store.js';
import type { TraceStore } from './trace-store.js';
import { prepareStore } from '../testdata/test-trace-store.js';

const postgres = testPostgres();

describe('a tenant with limits', () => {
  let store: TraceStore;
  let replica: TraceStore;
  let holder: pg.Client;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const log = createLogger('test', 'silent');
    const open = () =>
      openTraceStore({ uri, poolSize: 2, maxProjects: 2, maxApiKeys: 3, log, clock: systemClock });
    [store, replica] = [open(), open()];
    await store.migrate();
    holder = new pg.Client({ connectionString: uri });
    await holder.connect();
  });
  afterAll(async () => {
    await holder.end();
    for (const one of [store, replica]) await one.close();
  });

  it('refuses one project too many, and by name the runs that would have made it', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const run = (session_name: string) => ({
      id: randomUUID(),
      name: 'r',
      run_type: 'chain',
      session_name,
      start_time: new Date().toISOString(),
    });
    const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
    const ingest = (of: string, ...names: string[]) =>
      store.ingest(of, {
        post: names.map((name, n) => ({ run: bytes(run(name)), place: ['body', n] })),
        patch: [],
      });
    expect(await ingest(tenant, 'a', 'b', 'a')).toMatchObject({ accepted: 3, refused: [] });
    expect(await ingest(tenant, 'b', 'c', 'a')).toMatchObject({
      accepted: 2,
      erased: 0,
      refused: [
        {
          loc: ['body', 1, 'session_name'],
          msg: expect.stringMatching(/^creating the project c failed: the workspace has 2 projects/),
          type: 'too_many_projects',
        },
      ],
    });
    expect(await ingest(tenant, 'e', 'f', 'b', 'e')).toMatchObject({
      accepted: 1,
      refused: [
        { loc: ['body', 0, 'session_name'], msg: expect.stringMatching(/project e failed/) },
        { loc: ['body', 1, 'session_name'], msg: expect.stringMatching(/project f failed/) },
        { loc: ['body', 3, 'session_name'], msg: expect.stringMatching(/project e failed/) },
      ],
    });
    await expect(store.projects.ensure(tenant, 'd')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(store.projects.ensure(tenant, 'a')).resolves.toMatchObject({ name: 'a' });
    await expect(store.projects.ensure(other, 'd')).resolves.toMatchObject({ name: 'd' });
    await store.projects.delete(tenant, (await store.projects.ensure(tenant, 'a')).id);
    await expect(store.projects.ensure(tenant, 'd')).resolves.toMatchObject({ name: 'd' });
  });

  it('refuses one API key too many, and forgets the oldest of those that ended', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const mint = (of = tenant) => store.apiKeys.mint(of, { name: 'k', scope: 'workspace' });
    const own = { name: 'd', scope: 'deployment', deployment: 'd', project: 'd' } as const;
    const made = [await mint(), await mint(), await mint()];
    await expect(mint()).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/the workspace has 3 keys in force, .*revoke some$/),
    });
    await expect(mint(other)).resolves.toBeDefined();
    // of a deployment, which cannot run without
    const { id } = await store.apiKeys.mint(tenant, own);
    for (let n = 0; n < 5; n++) {
      await store.apiKeys.revoke(tenant, made.shift()?.id ?? '');
      made.push(await mint());
    }
    const left = await store.apiKeys.list(tenant);
    expect(left.filter(({ revokedAt }) => revokedAt === undefined)).toHaveLength(4);
    expect(left.filter(({ revokedAt }) => revokedAt !== undefined)).toHaveLength(3);
    expect(left.map((one) => one.id)).toContain(id);
  });

  it('reports what it has of each of them, and of what has a bound by default', async () => {
    const tenant = randomUUID();
    const GIB = 1024 ** 3;
    const none = {
      apiKeys: { used: 0, most: 3 },
      projects: { used: 0, most: 2 },
      datasets: { used: 0 },
      datasetBytes: { used: 0, most: 10 * GIB },
      attachmentBytes: { used: 0, most: 10 * GIB },
    };
    expect(await store.use(tenant)).toEqual(none);
    await store.projects.ensure(tenant, 'a');
    const mint = (more: object = {}) =>
      store.apiKeys.mint(tenant, { name: 'k', scope: 'workspace', ...more });
    await mint();
    await store.apiKeys.revoke(tenant, (await mint()).id);
    await mint({ expiresAt: new Date(Date.now() - 1_000) });
    await mint({ scope: 'deployment', deployment: 'd', project: 'd' });
    await store.datasets.create(tenant, { name: 'd', dataType: 'kv' });
    const content = { sha256: Buffer.alloc(32), size: 5_000 };
    const begun = await store.attachments.begin(tenant, content.size);
    await store.attachments.reserve(tenant, begun ?? '', content);
    expect(await store.use(tenant)).toEqual({
      ...none,
      apiKeys: { used: 1, most: 3 },
      projects: { used: 1, most: 2 },
      datasets: { used: 1 },
      attachmentBytes: { used: 5_000, most: 10 * GIB },
    });
    expect(await store.use(randomUUID())).toEqual(none);
  });

  it('adds projects and API keys one after another when requests come at once', async () => {
    const tenant = randomUUID();
    const stores = [store, replica, store, replica, store, replica];
    const made = async (work: readonly Promise<unknown>[]): Promise<number> => {
      const results = await Promise.allSettled(work);
      return results.filter(({ status }) => status === 'fulfilled').length;
    };
    // one statement each beforehand: the first opens connections, and would come alone
    for (const one of [store, replica]) await one.projects.find(tenant, { name: 'a' });
    expect(await made(stores.map((one, n) => one.projects.ensure(tenant, `p${n}`)))).toBe(2);
    expect(await made(stores.map((one) => one.apiKeys.mint(tenant, { name: 'k', scope: 'workspace' })))).toBe(
      3,
    );
    const found = await store.projects.list(tenant);
    const again = found.flatMap(({ name }) => [
      store.projects.ensure(tenant, name),
      replica.projects.ensure(tenant, name),
    ]);
    expect(await made(again)).toBe(4);
  });

  it('checks API keys while all of its other statements wait', async () => {
    const tenant = randomUUID();
    const { key } = await store.apiKeys.mint(tenant, { name: 'k', scope: 'workspace' });
    await holder.query('BEGIN; LOCK TABLE projects, export_progress IN ACCESS EXCLUSIVE MODE');
    const waiting = [
      ...Array.from({ length: 4 }, () => store.projects.find(randomUUID(), { name: 'a' })),
      ...Array.from({ length: 4 }, () => store.exportProgress.keys([randomUUID()])),
    ];
    try {
      expect(await store.apiKeys.verify(key)).toMatchObject({ tenantId: tenant });
    } finally {
      await holder.query('COMMIT');
    }
    expect(await Promise.all(waiting)).toHaveLength(8);
  });
});
