import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore } from './open-trace-store.js';
import type { TraceStore } from './trace-store.js';

const postgres = testPostgres();

describe('a tenant with limits', () => {
  let store: TraceStore;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase();
    const log = createLogger('test', 'silent');
    store = openTraceStore({ uri, poolSize: 2, maxProjects: 2, maxApiKeys: 3, log, clock: systemClock });
    await store.migrate();
  });
  afterAll(() => store.close());

  it('refuses one project too many, and by name the runs that would have made it', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const run = (session_name: string) => ({
      ...{ id: randomUUID(), name: 'r', run_type: 'chain', session_name },
      start_time: new Date().toISOString(),
    });
    const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
    const ingest = (of: string, ...names: string[]) =>
      store.ingest(of, {
        post: names.map((name, n) => ({ run: bytes(run(name)), place: ['body', n] })),
        patch: [],
      });
    expect(await ingest(tenant, 'a', 'b', 'a')).toMatchObject({ accepted: 3, refused: [] });
    expect(await ingest(tenant, 'b', 'c', 'a')).toEqual({
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
});
