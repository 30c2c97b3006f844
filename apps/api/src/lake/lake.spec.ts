import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPostgres } from '#lib/testing';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { checkDaysAreReadable, type LakeOptions, openTraceStore } from '#lib/trace-store';
import { type AttachmentBucket, startAttachmentBucket } from '../testdata/attachment-bucket.js';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';
import { testApi } from '../testdata/test-api.js';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'];

async function send(tenant: TestTenant, project: string, day: string): Promise<void> {
  const id = randomUUID();
  const run = { id, trace_id: id, name: 'n', run_type: 'chain', session_name: project, inputs: { q: 'x' } };
  const post = [{ ...run, start_time: `${day}T10:00:00Z` }];
  expect((await tenant.call('POST', '/runs/batch', { post, patch: [] })).status).toBe(202);
}

describe('GET /api/v1/lake', () => {
  const postgres = testPostgres();
  let bucket: AttachmentBucket;
  let api: RunningApi;
  let tenant: TestTenant;
  let uri = '';

  beforeAll(async () => {
    bucket = await startAttachmentBucket('lake');
    // its key may write below this folder
    const prefix = 'runs/lake';
    const lake: LakeOptions = { store: bucket.attachments.objects, bucket: 'lake', prefix, quietHours: 0 };
    ({ uri } = await postgres.freshDatabase(prepareStore));
    api = await runApi(uri, (await postgres.freshDatabase(prepareKube)).uri, { lake });
    tenant = await api.workspace();
    for (const project of ['one', 'other']) for (const day of DAYS) await send(tenant, project, day);
  });
  afterAll(async () => {
    await api.stop();
    await bucket.stop();
  });

  async function seal(): Promise<void> {
    const { lake } = api.store;
    const { signal } = new AbortController();
    await lake?.look();
    await lake?.look();
    while (await lake?.sealNext({ signal }));
  }

  it('lists days that wait, and then what is sealed of them', async () => {
    await api.store.lake?.look();
    const before = (await tenant.call('GET', '/api/v1/lake')).json;
    expect(before).toMatchObject({ enabled: true, reason: null, next_cursor: null });
    expect(before.days).toHaveLength(6);
    expect(before.days[0]).toMatchObject({
      day: '2026-03-03',
      postgres_rows: 1,
      sealed_rows: 0,
      generation: 0,
    });
    expect(before.days[0].postgres_bytes_estimate).toBeGreaterThan(0);
    await seal();
    const { days } = (await tenant.call('GET', '/api/v1/lake')).json;
    for (const day of days)
      expect(day).toMatchObject({
        postgres_rows: 0,
        postgres_bytes_estimate: 0,
        sealed_rows: 1,
        generation: 1,
        gone_rows: 0,
        sealing: false,
        failed_attempts: 0,
        error: null,
      });
    expect(days[0].sealed_bytes).toBeGreaterThan(0);
  });

  it('answers pages, each day once, and those of one project', async () => {
    await seal();
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { json } = await tenant.call('GET', `/api/v1/lake?limit=4${query}`);
      seen.push(
        ...json.days.map((one: Readonly<Record<string, string>>) => `${one['day']} ${one['session_id']}`),
      );
      cursor = json.next_cursor;
    }
    expect(seen).toHaveLength(6);
    expect(new Set(seen).size).toBe(6);
    const [, project] = seen[0]?.split(' ') ?? [];
    const { json } = await tenant.call('GET', `/api/v1/lake?session_id=${project}`);
    expect(json.days.map((one: { readonly day: string }) => one.day)).toEqual([...DAYS].reverse());
  });

  it.each(['x', '2026-03-01/a', `2026-02-30/${randomUUID()}`, `2026-03-01/${randomUUID()}/longlived`])(
    'refuses the cursor %s',
    async (cursor) => {
      const answer = await tenant.call('GET', `/api/v1/lake?cursor=${encodeURIComponent(cursor)}`);
      expect(answer.status).toBe(422);
      expect(answer.text).toContain('invalid cursor');
    },
  );

  it('keeps a program that does not know the bucket from starting', async () => {
    await seal();
    await expect(checkDaysAreReadable(api.store)).resolves.toBeUndefined();
    const log = createLogger('api-test', 'error');
    const unaware = openTraceStore({ uri, log, clock: systemClock });
    await expect(checkDaysAreReadable(unaware)).rejects.toThrow('set AGENTPLANE_LAKE to read or on');
    await unaware.close();
  });

  it('shows no other workspace its days', async () => {
    const other = await api.workspace();
    expect((await other.call('GET', '/api/v1/lake')).json.days).toEqual([]);
  });

  it('opens to no key that only reads', async () => {
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'reader', scope: 'read' });
    expect((await tenant.call('GET', '/api/v1/lake', undefined, { 'x-api-key': key })).status).toBe(403);
  });
});

describe('GET /api/v1/lake without a lake', () => {
  const { tenant } = testApi();

  it('says why nothing is sealed', async () => {
    expect((await tenant.call('GET', '/api/v1/lake')).json).toEqual({
      enabled: false,
      reason: 'AGENTPLANE_LAKE is off',
      days: [],
      tables: [],
      next_cursor: null,
    });
  });
});
