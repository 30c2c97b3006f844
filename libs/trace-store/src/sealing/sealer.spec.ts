import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { parseFilter } from '#lib/filter-language';
import { waitFor } from '#lib/testing';
import { parseInstant } from '#lib/time';
import { exportFiles } from '../../testdata/export-file.js';
import { testLake } from '../../testdata/test-lake.js';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { TraceStore } from '../index.js';
import { holdSealedFiles } from './held-files.js';
import type { LakeOptions, SealedDay } from './lake.js';

const SIGNAL = new AbortController().signal;
const DAY = '2026-11-20';
const timeOf = (text: string) => parseInstant(text, { zone: 'required' }) ?? 0n;

describe('a sealed day', () => {
  const lake = testLake();
  const database = testTraceStore();
  let store: TraceStore;
  beforeAll(() => {
    store = database.another({ lake: lake.options });
  });
  const others: TraceStore[] = [];
  afterAll(() => Promise.all([store, ...others].map((one) => one.close())));

  /** A store over the same files with other settings. It is closed at the end, since closing it closes theirs. */
  function withSettings(settings: Partial<LakeOptions>): TraceStore {
    const other = database.another({ lake: { ...lake.options, ...settings } });
    others.push(other);
    return other;
  }

  /** Seals whatever is due. */
  async function sealAll(): Promise<readonly SealedDay[]> {
    const days: SealedDay[] = [];
    await store.lake?.look();
    for (;;) {
      const day = await store.lake?.sealNext({ signal: SIGNAL });
      if (!day) return days;
      days.push(day);
    }
  }

  interface Sent {
    readonly id?: string;
    readonly inputs?: string;
    readonly outputs?: string;
    readonly tier?: string;
    readonly time?: string;
  }

  function operation({ id = randomUUID(), inputs, outputs, tier, time = '10:00:00' }: Sent) {
    const run = { id, trace_id: id, name: 'n', run_type: 'llm', start_time: `${DAY}T${time}Z` };
    return {
      id,
      run: Buffer.from(JSON.stringify({ ...run, ...(tier ? { trace_tier: tier } : {}) })),
      fields: {
        ...(inputs === undefined ? {} : { inputs: Buffer.from(inputs) }),
        ...(outputs === undefined ? {} : { outputs: Buffer.from(outputs) }),
      },
    };
  }
  async function post(tenant: string, sent: readonly Sent[]): Promise<string[]> {
    const operations = sent.map(operation);
    expect((await store.ingest(tenant, { post: operations, patch: [] })).refused).toEqual([]);
    return operations.map(({ id }) => id);
  }
  async function patch(tenant: string, id: string, fields: Record<string, string>): Promise<void> {
    const run = Buffer.from(JSON.stringify({ id, trace_id: id }));
    const texts = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text)]));
    expect((await store.ingest(tenant, { post: [], patch: [{ run, fields: texts }] })).refused).toEqual([]);
  }
  async function payloadsOf(tenant: string, id: string): Promise<Record<string, string>> {
    const run = await store.runs.get(tenant, id);
    const entries = Object.entries(run?.payloads ?? {}) as [string, Buffer][];
    return Object.fromEntries(entries.map(([name, bytes]) => [name, bytes.toString()]));
  }
  async function rowsOf(tenant: string): Promise<number> {
    const { rows } = await database.client.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM run_payloads WHERE tenant_id = $1',
      [tenant],
    );
    return rows[0]?.count ?? -1;
  }
  /** Lets an hour pass for the files that were replaced. */
  async function tidy(): Promise<void> {
    await database.client.query(`UPDATE lake_segments SET former_since = former_since - interval '2 hours'`);
    await store.lake?.tidy();
  }

  it('reads as before once its payloads have left Postgres', async () => {
    const tenant = randomUUID();
    const large = JSON.stringify({ text: 'x'.repeat(100_000) });
    const ids = await post(tenant, [
      { inputs: '{"a":  1}', outputs: '{"b":"\\u00e9"}' },
      { inputs: large },
      {},
    ]);
    const before = await Promise.all(ids.map((id) => payloadsOf(tenant, id)));
    const [day] = await sealAll();
    expect(day).toMatchObject({ tenantId: tenant, day: DAY, rows: 3, generation: 1 });
    expect(await rowsOf(tenant)).toBe(0);
    expect(await Promise.all(ids.map((id) => payloadsOf(tenant, id)))).toEqual(before);
    expect(before[0]).toEqual({ inputs: '{"a":  1}', outputs: '{"b":"\\u00e9"}' });
    expect(await sealAll()).toEqual([]);
    const [status] = (await store.lake?.status(tenant, { limit: 10 })) ?? [];
    expect(status).toMatchObject({ day: DAY, generation: 1, sealedRows: 3, goneRows: 0 });
  });

  it('leaves runs on their pages, so that no index is written again', async () => {
    const tenant = randomUUID();
    await post(
      tenant,
      Array.from({ length: 1_200 }, (_run, n) => ({
        inputs: `{"n":${n}}`,
        time: `11:${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`,
      })),
    );
    const pages = async (): Promise<ReadonlyMap<string, number>> => {
      const { rows } = await database.client.query<{ id: string; page: number }>(
        'SELECT id, (ctid::text::point)[0]::int AS page FROM runs WHERE tenant_id = $1',
        [tenant],
      );
      return new Map(rows.map(({ id, page }) => [id, page]));
    };
    const before = await pages();
    expect(await sealAll()).toMatchObject([{ rows: 1_200 }]);
    const after = await pages();
    expect([...before].filter(([id, page]) => after.get(id) !== page).length).toBeLessThan(120);
  });

  it('takes a page of runs from both places, in its order and within its bytes', async () => {
    const tenant = randomUUID();
    const sealed = await post(tenant, [
      { inputs: '{"n":1}', time: '10:00:01' },
      { inputs: '{"n":3}', time: '10:00:03' },
    ]);
    await sealAll();
    const later = await post(tenant, [
      { inputs: '{"n":2}', time: '10:00:02' },
      { inputs: '{"n":4}', time: '10:00:04' },
    ]);
    const fields = ['inputs'] as const;
    const page = { order: 'descending', limit: 10, fields, maxBytes: 1_000_000 } as const;
    const found = await store.runs.search(tenant, {}, page);
    expect(found.runs.map(({ payloads }) => payloads.inputs?.toString())).toEqual([
      '{"n":4}',
      '{"n":3}',
      '{"n":2}',
      '{"n":1}',
    ]);
    expect(found.runs.map(({ row }) => row.id)).toEqual([later[1], sealed[1], later[0], sealed[0]]);
  });

  it('exports the same rows and meets the same filters as before', async () => {
    const tenant = randomUUID();
    await post(
      tenant,
      Array.from({ length: 30 }, (_run, n) => ({ inputs: `{"n":${n}}`, outputs: `{"word":"w${n % 3}"}` })),
    );
    const { id: projectId } = await store.projects.ensure(tenant, 'default');
    const times = { startTime: timeOf(`${DAY}T00:00:00Z`), endTime: timeOf(`${DAY}T23:59:59Z`) };
    const window = { tenantId: tenant, projectId, ...times };
    const exported = async () => (await exportFiles(store.exportSource, window)).rows;
    const filters = { filter: parseFilter('search("w1")') };
    const page = { order: 'ascending', limit: 100, fields: ['inputs'], maxBytes: 1_000_000 } as const;
    const found = async () => {
      const { runs } = await store.runs.search(tenant, { projectIds: [projectId], filters }, page);
      return runs.map(({ payloads }) => payloads.inputs?.toString());
    };
    const before = [await exported(), await found()];
    expect(before[1]).toHaveLength(10);
    await sealAll();
    expect(await rowsOf(tenant)).toBe(0);
    expect([await exported(), await found()]).toEqual(before);
  });

  it('gets the payloads of a changed run back, and is sealed again without them', async () => {
    const tenant = randomUUID();
    const [one = '', other = ''] = await post(tenant, [
      { inputs: '{"a":1}', outputs: '{"a":1}' },
      { inputs: '{"b":1}' },
    ]);
    await sealAll();
    await patch(tenant, one, { outputs: '{"a":2}' });
    expect(await rowsOf(tenant)).toBe(1);
    expect(await payloadsOf(tenant, one)).toEqual({ inputs: '{"a":1}', outputs: '{"a":2}' });
    // the first look finds the change, the second that nothing has changed since
    await store.lake?.look();
    const again = (await sealAll()).find(({ tenantId }) => tenantId === tenant);
    expect(again).toMatchObject({ generation: 2, rows: 2 });
    expect(await rowsOf(tenant)).toBe(0);
    expect(await payloadsOf(tenant, one)).toEqual({ inputs: '{"a":1}', outputs: '{"a":2}' });
    expect(await payloadsOf(tenant, other)).toEqual({ inputs: '{"b":1}' });
  });

  it('copies the row groups that are whole when it is sealed again', async () => {
    const tenant = randomUUID();
    const sent = Array.from({ length: 20 }, (_run, n) => ({ inputs: `{"n":${n}}`, time: `10:00:${10 + n}` }));
    const ids = await post(tenant, sent);
    const seal = async () => (await sealAll()).find(({ tenantId }) => tenantId === tenant);
    expect(await seal()).toMatchObject({ generation: 1, rows: 20, copiedBytes: 0 });
    const [late = ''] = await post(tenant, [{ inputs: '{"n":20}', time: '11:00:00' }]);
    // the next look finds that nothing has changed since this one
    await store.lake?.look();
    const again = await seal();
    expect(again).toMatchObject({ generation: 2, rows: 21 });
    expect(again?.copiedBytes).toBeGreaterThan(0);
    for (const [n, id] of [...ids, late].entries())
      expect(await payloadsOf(tenant, id)).toEqual({ inputs: `{"n":${n}}` });
    // its row group is written anew, that of the late run is copied
    await patch(tenant, ids[7] ?? '', { outputs: '{"last":7}' });
    await store.lake?.look();
    const third = await seal();
    expect(third).toMatchObject({ generation: 3, rows: 21 });
    expect(third?.copiedBytes).toBeLessThan(again?.copiedBytes ?? 0);
    await tidy();
    expect(await payloadsOf(tenant, ids[7] ?? '')).toEqual({ inputs: '{"n":7}', outputs: '{"last":7}' });
    expect(await payloadsOf(tenant, ids[8] ?? '')).toEqual({ inputs: '{"n":8}' });
    expect(await payloadsOf(tenant, late)).toEqual({ inputs: '{"n":20}' });
    await store.projects.delete(tenant, (await store.projects.ensure(tenant, 'default')).id);
  });

  it('stays as it is when a batch is sent again', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}', outputs: '{"a":2}' }]);
    await sealAll();
    await post(tenant, [{ id, inputs: '{"a":1}' }]);
    await patch(tenant, id, { outputs: '{"a":2}' });
    expect(await rowsOf(tenant)).toBe(0);
    // a late create fills what is missing
    await post(tenant, [{ id, inputs: '{"other":1}' }]);
    expect(await rowsOf(tenant)).toBe(0);
    expect(await payloadsOf(tenant, id)).toEqual({ inputs: '{"a":1}', outputs: '{"a":2}' });
  });

  it('loses the bytes of deleted runs with its next generation', async () => {
    const tenant = randomUUID();
    const [gone = '', kept = ''] = await post(tenant, [
      { inputs: '{"secret":1}' },
      ...Array.from({ length: 200 }, (_run, n) => ({ inputs: `{"n":${n}}` })),
    ]);
    await sealAll();
    const mine = async () => (await lake.keys()).filter((key) => key.includes(tenant));
    const before = await mine();
    expect(before).toHaveLength(1);
    const { id: projectId } = await store.projects.ensure(tenant, 'default');
    await store.erasures.erase(tenant, projectId, { traceIds: [gone], threadIds: [] });
    expect(await store.runs.get(tenant, gone)).toBeUndefined();
    expect(await sealAll()).toEqual([]);
    const [status] = (await store.lake?.status(tenant, { limit: 1 })) ?? [];
    expect(status).toMatchObject({ goneRows: 1, sealedRows: 201 });
    expect(status?.eraseBefore).toBeInstanceOf(Date);
    await database.client.query('UPDATE lake_days SET erase_before = now() WHERE tenant_id = $1', [tenant]);
    expect(await sealAll()).toMatchObject([{ generation: 2, rows: 200 }]);
    await tidy();
    const after = await mine();
    expect(after).toHaveLength(1);
    expect(after).not.toEqual(before);
    expect(await payloadsOf(tenant, kept)).toEqual({ inputs: '{"n":0}' });
  });

  it('has the runs of both tiers in the order of exports, so that an export copies them', async () => {
    const tenant = randomUUID();
    const sent = Array.from({ length: 20 }, (_run, n) => ({
      inputs: `{"n":${n}}`,
      tier: n % 2 === 0 ? 'shortlived' : 'longlived',
      time: `10:00:${10 + n}`,
    }));
    const ids = await post(tenant, sent);
    expect(await sealAll()).toMatchObject([{ rows: 20, files: 1 }]);
    const { id: projectId } = await store.projects.ensure(tenant, 'default');
    const times = { startTime: timeOf(`${DAY}T00:00:00Z`), endTime: timeOf(`${DAY}T23:59:59Z`) };
    const { rows, copiedBytes } = await exportFiles(store.exportSource, {
      tenantId: tenant,
      projectId,
      ...times,
    });
    expect(rows.map(({ id }) => id)).toEqual(ids);
    expect(copiedBytes).toBeGreaterThan(0);
    // the rows of one tier go, those of the other are written anew
    await store.retention.upgrade(tenant, ids[0] ?? '');
    await store.retention.set(tenant, { shortlivedDays: 1 });
    await store.tidy();
    await database.client.query('UPDATE lake_days SET erase_before = now() WHERE tenant_id = $1', [tenant]);
    expect(await sealAll()).toMatchObject([{ rows: 11, generation: 2 }]);
    await tidy();
    expect(await payloadsOf(tenant, ids[0] ?? '')).toEqual({ inputs: '{"n":0}' });
    expect(await payloadsOf(tenant, ids[1] ?? '')).toEqual({ inputs: '{"n":1}' });
  });

  it('keeps files for as long as backups of Postgres may name them', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}' }]);
    await sealAll();
    const kept = withSettings({ keptHours: 4 });
    const mine = async () => (await lake.keys()).filter((key) => key.includes(tenant));
    await patch(tenant, id, { inputs: '{"a":2}' });
    await store.lake?.look();
    await sealAll();
    await database.client.query(`UPDATE lake_segments SET former_since = former_since - interval '3 hours'`);
    expect(await kept.lake?.hasGarbage()).toBe(false);
    await kept.lake?.tidy();
    expect(await mine()).toHaveLength(2);
    await store.projects.delete(tenant, (await store.projects.ensure(tenant, 'default')).id);
    await store.tidy();
    await kept.lake?.tidy();
    expect(await mine()).toHaveLength(2);
    await database.client.query(`UPDATE lake_garbage SET since = since - interval '5 hours'`);
    expect(await kept.lake?.hasGarbage()).toBe(true);
    await kept.lake?.tidy();
    expect(await mine()).toEqual([]);
  });

  it('keeps files while a backup is under way', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}' }]);
    await sealAll();
    await patch(tenant, id, { inputs: '{"a":2}' });
    await store.lake?.look();
    await sealAll();
    const mine = async () => (await lake.keys()).filter((key) => key.includes(tenant));
    const backup = new pg.Client({ connectionString: database.uri });
    await backup.connect();
    await holdSealedFiles(backup);
    await tidy();
    expect([await store.lake?.hasGarbage(), (await mine()).length]).toEqual([false, 2]);
    await backup.end();
    await waitFor(async () => (await store.lake?.hasGarbage()) === true);
    await tidy();
    expect(await mine()).toHaveLength(1);
  });

  it('deletes objects that no row names, a week after they were found, where it is the only writer', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}' }]);
    await sealAll();
    const mine = async () => (await lake.keys()).filter((key) => key.includes(tenant));
    const [own = ''] = await mine();
    const { store: objects, bucket, prefix } = lake.options;
    const folder = `${prefix}/${tenant}/${randomUUID()}`;
    const unnamed = [
      `${folder}/day=${DAY}/generation=9/${randomUUID()}.parquet`,
      `${folder}/table/metadata/v9.metadata.json`,
    ];
    const foreign = `${prefix}/${tenant}/notes.txt`;
    for (const key of [...unnamed, foreign]) await objects.put(bucket, key, Buffer.from('x'));
    const writer = withSettings({ isOnlyWriter: true });
    const search = async (later: string) => {
      await database.client.query(`UPDATE lake_searches SET searched_at = '-infinity'`);
      await database.client.query(`UPDATE lake_garbage SET since = since - '${later}'::interval`);
      await writer.lake?.tidy();
    };
    await search('0');
    await search('6 days');
    expect(await mine()).toEqual(expect.arrayContaining(unnamed));
    await search('2 days');
    expect((await mine()).sort()).toEqual([own, foreign].sort());
    expect(await payloadsOf(tenant, id)).toEqual({ inputs: '{"a":1}' });
  });

  it('goes with its project', async () => {
    const tenant = randomUUID();
    await post(tenant, [{ inputs: '{"a":1}' }]);
    await sealAll();
    const { id } = await store.projects.ensure(tenant, 'default');
    await store.projects.delete(tenant, id);
    await store.tidy();
    await tidy();
    expect((await lake.keys()).filter((key) => key.includes(tenant))).toEqual([]);
    const { rows } = await database.client.query('SELECT FROM lake_days WHERE tenant_id = $1', [tenant]);
    expect(rows).toEqual([]);
  });

  it('leaves nothing of a workspace that is removed while a worker writes its file', async () => {
    const tenant = randomUUID();
    await post(tenant, [{ inputs: '{"a":1}' }]);
    const awake = Promise.withResolvers<void>();
    let isHeld = false;
    lake.fail(({ method, key, query }) => {
      if (isHeld || method !== 'POST' || !query.has('uploadId') || !key.includes(tenant)) return undefined;
      isHeld = true;
      return { kind: 'hold', until: awake.promise };
    });
    const lost = expect(sealAll()).rejects.toThrow();
    await waitFor(() => isHeld);
    await waitFor(async () => (await store.tenants.remove(tenant)) === undefined);
    await database.client.query(`UPDATE lake_garbage SET since = since - interval '2 hours'`);
    expect(await store.lake?.hasGarbage()).toBe(true);
    await store.lake?.tidy();
    expect(await store.lake?.hasGarbage()).toBe(false);
    const { rows } = await database.client.query('SELECT FROM lake_garbage');
    expect(rows).toEqual([]);
    awake.resolve();
    await lost;
    lake.fail(undefined);
    expect((await lake.keys()).filter((key) => key.includes(tenant))).toEqual([]);
  });

  it('refuses reads and changes in words where the object store is not configured', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}' }]);
    await sealAll();
    await expect(database.store.runs.get(tenant, id)).rejects.toThrow(
      'configure the object store of the lake',
    );
    const patched = {
      run: Buffer.from(JSON.stringify({ id, trace_id: id })),
      fields: { inputs: Buffer.from('{}') },
    };
    await expect(database.store.ingest(tenant, { post: [], patch: [patched] })).rejects.toThrow(
      'configure the object store of the lake',
    );
    expect(await payloadsOf(tenant, id)).toEqual({ inputs: '{"a":1}' });
  });

  it('says why it could not be sealed, and is tried again', async () => {
    const tenant = randomUUID();
    const [id = ''] = await post(tenant, [{ inputs: '{"a":1}' }]);
    lake.fail(({ method }) => (method === 'GET' ? undefined : { kind: 'error', code: 'AccessDenied' }));
    await expect(sealAll()).rejects.toThrow();
    lake.fail(undefined);
    const [status] = (await store.lake?.status(tenant, { limit: 1 })) ?? [];
    expect(status).toMatchObject({ attempts: 1, isSealing: false, sealedRows: 0 });
    expect(status?.error).toMatch(/denied/i);
    expect(await sealAll()).toEqual([]);
    await database.client.query('UPDATE lake_days SET next_at = now() WHERE next_at IS NOT NULL');
    expect(await sealAll()).toMatchObject([{ rows: 1 }]);
    expect(await payloadsOf(tenant, id)).toEqual({ inputs: '{"a":1}' });
  });

  it('gives the disk space of its payloads back', async () => {
    const tenant = randomUUID();
    const text = () => JSON.stringify(Array.from({ length: 40 }, () => randomUUID()));
    const ids = await post(
      tenant,
      Array.from({ length: 400 }, () => ({ inputs: text(), outputs: text(), time: '23:59:59' })),
    );
    const bytes = async () => {
      const { rows } = await database.client.query<{ bytes: number }>(
        `SELECT sum(pg_total_relation_size(inhrelid))::float8 AS bytes FROM pg_inherits
        WHERE inhparent = 'run_payloads'::regclass`,
      );
      return rows[0]?.bytes ?? 0;
    };
    const before = await bytes();
    const first = await payloadsOf(tenant, ids[0] ?? '');
    await store.lake?.look();
    await sealAll();
    await database.client.query('DELETE FROM run_payloads WHERE tenant_id <> $1', [tenant]);
    await tidy();
    expect(await bytes()).toBeLessThan(before / 4);
    expect(await payloadsOf(tenant, ids[0] ?? '')).toEqual(first);
  });

  it('passes from a worker that stopped to another, and the first can do nothing to it any more', async () => {
    const tenant = randomUUID();
    const ids = await post(tenant, [{ inputs: '{"a":1}' }, { inputs: '{"a":2}' }]);
    let wake: () => void = () => undefined;
    let isHeld = false;
    const awake = new Promise<void>((resolve) => (wake = resolve));
    lake.fail(({ method, query }) => {
      if (isHeld || method !== 'POST' || !query.has('uploadId')) return undefined;
      isHeld = true;
      return { kind: 'hold', until: awake };
    });
    await store.lake?.look();
    const paused = expect(store.lake?.sealNext({ signal: SIGNAL })).rejects.toThrow(
      'another worker has taken it',
    );
    await waitFor(() => isHeld);
    expect(await store.lake?.sealNext({ signal: SIGNAL })).toBeUndefined();
    await database.client.query(`UPDATE lake_days SET sealing_since = now() - interval '2 minutes'
      WHERE sealing_since IS NOT NULL`);
    expect(await sealAll()).toMatchObject([{ tenantId: tenant, rows: 2, files: 1 }]);
    wake();
    await paused;
    lake.fail(undefined);
    expect(await Promise.all(ids.map((id) => payloadsOf(tenant, id)))).toEqual([
      { inputs: '{"a":1}' },
      { inputs: '{"a":2}' },
    ]);
    await tidy();
    expect((await lake.keys()).filter((key) => key.includes(tenant))).toHaveLength(1);
  });

  it('takes changes that arrive while it is sealed, in any number', async () => {
    const tenant = randomUUID();
    const count = 300;
    const ids = await post(
      tenant,
      Array.from({ length: count }, (_run, n) => ({ inputs: `{"n":${n}}` })),
    );
    await store.lake?.look();
    const changing = Promise.all(
      Array.from({ length: 6 }, async (_sender, sender) => {
        for (let n = sender; n < count; n += 6) await patch(tenant, ids[n] ?? '', { outputs: `{"n":${n}}` });
      }),
    );
    for (let round = 0; round < 4; round++) {
      await store.lake?.sealNext({ signal: SIGNAL });
      await database.client.query('UPDATE lake_days SET next_at = now() WHERE tenant_id = $1', [tenant]);
    }
    await changing;
    const texts = await Promise.all(ids.map((id) => payloadsOf(tenant, id)));
    expect(texts).toEqual(ids.map((_id, n) => ({ inputs: `{"n":${n}}`, outputs: `{"n":${n}}` })));
    await sealAll();
    await sealAll();
    expect(await rowsOf(tenant)).toBe(0);
  });

  it('waits for the next worker when its own is asked to stop', async () => {
    const tenant = randomUUID();
    await post(tenant, [{ inputs: '{"a":1}' }]);
    await store.lake?.look();
    const stop = new AbortController();
    lake.fail(({ method }) => {
      if (method === 'POST') stop.abort(new Error('asked to stop'));
      return undefined;
    });
    await expect(store.lake?.sealNext({ signal: stop.signal })).rejects.toThrow();
    lake.fail(undefined);
    expect(await sealAll()).toMatchObject([{ tenantId: tenant, rows: 1 }]);
  });

  it('goes as a whole when all of its runs have expired', async () => {
    const tenant = randomUUID();
    await post(tenant, [{ inputs: '{"a":1}', tier: 'shortlived' }]);
    await sealAll();
    await store.retention.set(tenant, { shortlivedDays: 1 });
    await store.tidy();
    expect(await sealAll()).toMatchObject([{ tenantId: tenant, rows: 0, files: 0 }]);
    await tidy();
    expect((await lake.keys()).filter((key) => key.includes(tenant))).toEqual([]);
    expect(await store.lake?.status(tenant, { limit: 10 })).toEqual([]);
  });
});
