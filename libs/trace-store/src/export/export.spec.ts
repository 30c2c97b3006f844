import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { parseFilter } from '#lib/filter-language';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { type Instant, parseInstant, systemClock } from '#lib/time';
import {
  EXPORT_COLUMNS,
  openTraceStore,
  StaleAttemptError,
  type ExportCursor,
  type ExportRows,
  type TraceStore,
} from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const TENANT = randomUUID();
const open = (uri: string) =>
  openTraceStore({ uri, poolSize: 3, log: createLogger('test', 'error'), clock: systemClock });

const at = (iso: string): Instant => {
  const micros = parseInstant(iso, { zone: 'optional' });
  if (micros === undefined) throw new Error(iso);
  return micros;
};

/** Fields of each tuple, as bytes. */
async function tuples(rows: ExportRows): Promise<(Buffer | null)[][]> {
  const chunks: Buffer[] = [];
  for await (const chunk of rows.stream) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const result: (Buffer | null)[][] = [];
  let offset = 19;
  for (;;) {
    const count = bytes.readInt16BE(offset);
    offset += 2;
    if (count === -1) break;
    const tuple: (Buffer | null)[] = [];
    for (let i = 0; i < count; i++) {
      const length = bytes.readInt32BE(offset);
      offset += 4;
      tuple.push(length < 0 ? null : bytes.subarray(offset, offset + length));
      if (length > 0) offset += length;
    }
    result.push(tuple);
  }
  expect(offset).toBe(bytes.length);
  return result;
}

describe('the export side of a trace store', () => {
  let store: TraceStore;
  let uri = '';
  let projectId = '';
  const DAY = { startTime: at('2026-11-20T00:00:00Z'), endTime: at('2026-11-21T00:00:00Z') };
  const ids: string[] = [];

  beforeAll(async () => {
    uri = (await postgres.freshDatabase(prepareStore)).uri;
    store = open(uri);
    await store.migrate();
    const times = [
      '2026-11-19T23:59:59.999999Z',
      '2026-11-20T00:00:00Z',
      '2026-11-20T12:00:00.000001Z',
      '2026-11-20T12:00:00.000001Z',
      '2026-11-20T12:00:00.000002Z',
      '2026-11-20T23:59:59.999999Z',
      '2026-11-21T00:00:00Z',
    ];
    const post = times.map((start_time, i) => {
      const id = randomUUID();
      if (i > 0 && i < 6) ids.push(id);
      return {
        run: Buffer.from(
          JSON.stringify({
            id,
            trace_id: id,
            name: `run ${i}`,
            run_type: 'chain',
            start_time,
            session_name: 'p',
          }),
        ),
        fields: { inputs: Buffer.from(`{"n": ${i}.0}`) },
      };
    });
    await store.ingest(TENANT, { post, patch: [] });
    await store.ingest(randomUUID(), { post, patch: [] });
    projectId = (await store.projects.find(TENANT, { name: 'p' }))?.id ?? '';
  });
  afterAll(() => store.close());

  const uuidOf = (bytes: Buffer | null | undefined) =>
    bytes?.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

  it('reads a window in order of start time and id, start inclusive and end exclusive', async () => {
    const rows = await store.exportSource.read({ tenantId: TENANT, projectId, ...DAY });
    expect(rows.columns).toBe(EXPORT_COLUMNS);
    const found = await tuples(rows);
    const [a, b, c, d, e] = ids;
    expect(found.map((tuple) => uuidOf(tuple[0]))).toEqual([a, ...[b ?? '', c ?? ''].sort(), d, e]);
    const inputs = rows.columns.findIndex((column) => column.name === 'inputs');
    expect(found[0]?.[inputs]?.toString()).toBe('{"n": 1.0}');
  });

  it('fails for a run whose payloads are missing, and names it', async () => {
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    try {
      const [id] = ids;
      await client.query('BEGIN; CREATE TABLE kept AS SELECT * FROM run_payloads');
      await client.query('DELETE FROM run_payloads WHERE tenant_id = $1 AND id = $2', [TENANT, id]);
      await client.query('COMMIT');
      const read = { tenantId: TENANT, projectId, ...DAY };
      const missing = `payloads of run ${id} failed: they are missing`;
      await expect(store.exportSource.read(read).then(tuples)).rejects.toThrow(missing);
      // not where no payload is asked for
      expect(await tuples(await store.exportSource.read({ ...read, fields: ['name'] }))).toHaveLength(5);
      await client.query('INSERT INTO run_payloads SELECT k.* FROM kept k WHERE tenant_id = $1 AND id = $2', [
        TENANT,
        id,
      ]);
      expect(await tuples(await store.exportSource.read(read))).toHaveLength(5);
    } finally {
      await client.end();
    }
  });

  it('continues after a cursor, with chosen fields and a limit', async () => {
    const all = await tuples(await store.exportSource.read({ tenantId: TENANT, projectId, ...DAY }));
    const id = uuidOf(all[1]?.[0]) ?? '';
    const after = { startTime: at('2026-11-20T12:00:00.000001Z'), id, traceId: id };
    const rows = await store.exportSource.read({
      tenantId: TENANT,
      projectId,
      ...DAY,
      after,
      fields: ['name', 'id'],
      maxRows: 2,
    });
    // the columns of the cursor come along
    expect(rows.columns.map((column) => column.name)).toEqual(['id', 'trace_id', 'name', 'start_time']);
    expect((await tuples(rows)).map((tuple) => uuidOf(tuple[0]))).toEqual([
      uuidOf(all[2]?.[0]),
      uuidOf(all[3]?.[0]),
    ]);
  });

  it('reads the runs that meet a filter, in parts', async () => {
    const filter = parseFilter(`or(eq(name, "run 2"), in(name, ["run 5", "';--"]), search(inputs, "3.0"))`);
    const window = { tenantId: TENANT, projectId, ...DAY, filter };
    const all = await tuples(await store.exportSource.read(window));
    expect(all.map((tuple) => uuidOf(tuple[0])).sort()).toEqual([ids[1], ids[2], ids[4]].sort());
    const id = uuidOf(all[0]?.[0]) ?? '';
    const after = { startTime: at('2026-11-20T12:00:00.000001Z'), id, traceId: id };
    const rest = await tuples(await store.exportSource.read({ ...window, after, maxRows: 1 }));
    expect(rest.map((tuple) => uuidOf(tuple[0]))).toEqual([uuidOf(all[1]?.[0])]);
  });

  it('continues between runs that differ in their trace only', async () => {
    const tenantId = randomUUID();
    const id = randomUUID();
    const traces = Array.from({ length: 4 }, () => randomUUID()).sort();
    const start_time = '2026-11-20T12:00:00Z';
    const runs = traces.map((trace_id) => ({ id, trace_id, name: 'n', run_type: 'chain', start_time }));
    await store.ingest(tenantId, {
      post: runs.map((run) => ({ run: Buffer.from(JSON.stringify(run)) })),
      patch: [],
    });
    const project = await store.projects.ensure(tenantId, 'default');
    const seen: (string | undefined)[] = [];
    for (let after: ExportCursor | undefined; ;) {
      const rows = await store.exportSource.read({
        tenantId,
        projectId: project.id,
        ...DAY,
        fields: ['trace_id'],
        maxRows: 1,
        ...(after ? { after } : {}),
      });
      const [tuple] = await tuples(rows);
      if (!tuple) break;
      const traceId = uuidOf(tuple[rows.columns.findIndex(({ name }) => name === 'trace_id')]) ?? '';
      seen.push(traceId);
      after = { startTime: at(start_time), id, traceId };
    }
    expect(seen).toEqual(traces);
  });

  it('returns every column in the binary form of its type', async () => {
    const sizes: Record<string, number> = { uuid: 16, timestamptz: 8, bool: 1, int8: 8 };
    const rows = await store.exportSource.read({ tenantId: TENANT, projectId, ...DAY });
    for (const tuple of await tuples(rows))
      for (const [i, column] of rows.columns.entries()) {
        const size = sizes[column.type];
        const field = tuple[i];
        if (!column.nullable) expect(field).not.toBeNull();
        if (field && size) expect([column.name, field.length]).toEqual([column.name, size]);
      }
  });

  it('frees the connection of an abandoned read', async () => {
    for (let i = 0; i < 5; i++) {
      const rows = await store.exportSource.read({ tenantId: TENANT, projectId, ...DAY });
      rows.stream.destroy();
    }
    const rows = await store.exportSource.read({ tenantId: TENANT, projectId, ...DAY });
    expect(await tuples(rows)).toHaveLength(5);
  });

  it('holds what no worker has claimed, until it is freed', async () => {
    const { exportProgress: progress } = store;
    const [fresh, claimed] = [randomUUID(), randomUUID()];
    await progress.claim(claimed, 1);
    expect([await progress.hold(claimed), await progress.hold(fresh)]).toEqual([false, true]);
    expect(await progress.hold(fresh)).toBe(true);
    await expect(progress.claim(fresh, 1)).rejects.toThrow(StaleAttemptError);
    await progress.free([fresh, claimed]);
    expect(await progress.claim(fresh, 1)).toMatchObject({ attempt: 1, state: 'running', hasMark: true });
    await progress.recordIntent(claimed, 1, { part: 0, key: 'k' });
    await progress.cancel(fresh);
    expect(await progress.hold(fresh)).toBe(false);
  });

  it('fences every write of an export by its attempt', async () => {
    const { exportProgress: progress } = store;
    const run = randomUUID();
    expect(await progress.find(run)).toBeUndefined();
    expect(await progress.claim(run, 1)).toMatchObject({
      attempt: 1,
      state: 'running',
      part: 0,
      rows: 0,
      cursor: undefined,
    });
    await progress.recordIntent(run, 1, { part: 0, key: 'k0', uploadId: 'u' });
    const cursor = {
      startTime: at('2026-11-20T12:00:00.000001Z'),
      id: randomUUID(),
      traceId: randomUUID(),
    };
    await progress.completePart(run, 1, { part: 0, key: 'k0', rows: 10, bytes: 100, sha256: 'ab' }, cursor);
    await expect(
      progress.completePart(run, 1, { part: 0, key: 'k0', rows: 10, bytes: 100 }, cursor),
    ).rejects.toThrow(StaleAttemptError);
    await progress.recordIntent(run, 1, { part: 1, key: 'k1' });
    await expect(progress.claim(run, 1)).rejects.toThrow(StaleAttemptError);

    expect(await progress.claim(run, 2)).toMatchObject({
      attempt: 2,
      part: 1,
      rows: 10,
      bytes: 100,
      files: 1,
      cursor,
      intent: { part: 1, key: 'k1' },
    });
    for (const write of [
      () => progress.recordIntent(run, 1, { part: 1, key: 'old' }),
      () => progress.completePart(run, 1, { part: 1, key: 'k1', rows: 1, bytes: 1 }, cursor),
      () => progress.clearIntent(run, 1),
      () => progress.fail(run, 1, 'late'),
      () => progress.finish(run, 1),
    ])
      await expect(write()).rejects.toThrow(StaleAttemptError);
    await progress.fail(run, 2, 'the store said no\0');
    await expect(progress.finish(run, 2)).rejects.toThrow(StaleAttemptError);
    await progress.claim(run, 3);
    await progress.finish(run, 3);
    await expect(progress.claim(run, 4)).rejects.toThrow(StaleAttemptError);
    expect(await progress.find(run)).toMatchObject({
      state: 'completed',
      rows: 10,
      files: 1,
      intent: undefined,
      error: undefined,
    });
    expect(await progress.files(run)).toEqual([
      { resource: 'runs', part: 0, key: 'k0', rows: 10, bytes: 100, sha256: 'ab' },
    ]);
    await progress.forget([run]);
    expect(await progress.files(run)).toEqual([]);
  });

  it('shuts out every attempt of a cancelled export, also before the first', async () => {
    const { exportProgress: progress } = store;
    const [before, during] = [randomUUID(), randomUUID()];
    await progress.cancel(before);
    await expect(progress.claim(before, 1)).rejects.toThrow(StaleAttemptError);
    await progress.claim(during, 1);
    await progress.cancel(during);
    await expect(progress.finish(during, 1)).rejects.toThrow(StaleAttemptError);
    expect((await progress.list([before, during])).get(during)?.state).toBe('cancelled');
  });

  it('shuts out every run of a cancelled export at once, those that no attempt has claimed yet included', async () => {
    const { exportProgress: progress } = store;
    const [exportUid, other] = [randomUUID(), randomUUID()];
    const [whole, atWork, failed] = [randomUUID(), randomUUID(), randomUUID()];
    const [later, foreign] = [randomUUID(), randomUUID()];
    for (const run of [whole, atWork, failed]) await progress.claim(run, 1, exportUid);
    await progress.claim(foreign, 1, other);
    await progress.finish(whole, 1);
    await progress.fail(failed, 1, 'the store refused');
    await progress.recordIntent(atWork, 1, { part: 0, key: 'k' });
    await progress.cancelExport(exportUid);
    await progress.cancelExport(exportUid);
    await expect(progress.finish(atWork, 1)).rejects.toThrow(StaleAttemptError);
    for (const run of [atWork, failed, later])
      await expect(progress.claim(run, 2, exportUid)).rejects.toThrow(StaleAttemptError);
    expect(await progress.find(later)).toBeUndefined();
    expect(await progress.find(whole)).toMatchObject({ state: 'completed' });
    // its objects in the store are still to be removed
    expect(await progress.find(atWork)).toMatchObject({ state: 'cancelled', intent: { key: 'k' } });
    await progress.finish(foreign, 1);
  });

  it('finishes all runs of an export but the last, however many end at one moment', async () => {
    const { exportProgress: progress } = store;
    for (let round = 0; round < 20; round++) {
      const exportUid = randomUUID();
      const runs = Array.from({ length: 6 }, () => randomUUID());
      for (const run of runs) await progress.claim(run, 1, exportUid);
      const finished = await Promise.all(runs.map((run) => progress.finishUnlessLast(run, 1, exportUid, 6)));
      expect(finished.filter((isFinished) => !isFinished)).toHaveLength(1);
      const last = runs[finished.indexOf(false)] ?? '';
      expect(await progress.find(last)).toMatchObject({ state: 'running' });
      // as often as it is asked
      expect(await progress.finishUnlessLast(last, 1, exportUid, 6)).toBe(false);
      await progress.finish(last, 1);
    }
  });

  it('counts no run among those of its export that was deleted, and finishes none that is not in force', async () => {
    const { exportProgress: progress } = store;
    const [exportUid, deleted, run] = [randomUUID(), randomUUID(), randomUUID()];
    for (const one of [deleted, run]) await progress.claim(one, 1, exportUid);
    await progress.finish(deleted, 1);
    expect(await progress.finishUnlessLast(run, 1, exportUid, 2)).toBe(false);
    await progress.leave(deleted);
    expect(await progress.find(deleted)).toMatchObject({ state: 'completed' });
    await expect(progress.finishUnlessLast(run, 2, exportUid, 2)).rejects.toThrow(StaleAttemptError);
    expect(await progress.finishUnlessLast(run, 1, exportUid, 2)).toBe(true);
  });

  it('removes fences a week after their last use, except those of exports with runs that have not ended', async () => {
    const { exportProgress: progress } = store;
    const [cancelled, completed, atWork, recent] = Array.from({ length: 4 }, () => randomUUID());
    await progress.cancelExport(cancelled ?? '');
    const run = randomUUID();
    await progress.claim(run, 1, completed);
    await progress.finish(run, 1);
    await progress.claim(randomUUID(), 1, atWork);
    await progress.cancelExport(recent ?? '');
    const client = new pg.Client({ connectionString: uri });
    await client.connect();
    const left = async () => {
      const text = 'SELECT export_uid FROM export_fences WHERE export_uid = ANY($1)';
      const { rows } = await client.query<{ export_uid: string }>(text, [
        [cancelled, completed, atWork, recent],
      ]);
      return rows.map((row) => row.export_uid).sort();
    };
    await store.tidy();
    expect(await left()).toHaveLength(4);
    await client.query(
      `UPDATE export_fences SET updated_at = now() - interval '8 days' WHERE export_uid <> $1`,
      [recent],
    );
    await store.tidy();
    expect(await left()).toEqual([atWork, recent].sort());
    await client.end();
  });

  it('lets no claim pass that meets the cancel of its export', async () => {
    const { exportProgress: progress } = store;
    for (let round = 0; round < 20; round++) {
      const exportUid = randomUUID();
      const runs = Array.from({ length: 6 }, () => randomUUID());
      const claims = runs.map((run) => progress.claim(run, 1, exportUid).catch(() => undefined));
      await progress.cancelExport(exportUid);
      await Promise.all(claims);
      for (const run of runs) await expect(progress.finish(run, 1)).rejects.toThrow(StaleAttemptError);
    }
  });

  it('has a run begin with what another has finished, once', async () => {
    const progress = store.exportProgress;
    const [former, run] = [randomUUID(), randomUUID()];
    expect(await progress.adopt(run, former)).toBe(false);
    await progress.claim(former, 3);
    const cursor = { startTime: at('2026-11-20T01:00:00Z'), id: randomUUID(), traceId: randomUUID() };
    const file = { part: 0, key: 'a/part-00001.parquet', rows: 7, bytes: 70, etag: 'e', sha256: 'f' };
    await progress.completePart(former, 3, file, cursor);
    await progress.cancel(former);
    expect([await progress.adopt(run, former), await progress.adopt(run, former)]).toEqual([true, true]);
    const claimed = await progress.claim(run, 1);
    expect(claimed).toMatchObject({ cursor, rows: 7, bytes: 70, part: 1, files: 1, isWhole: false });
    expect(await progress.files(run)).toEqual(await progress.files(former));
    await progress.finish(run, 1);
    const next = randomUUID();
    await progress.adopt(next, run);
    expect(await progress.claim(next, 1)).toMatchObject({ isWhole: true, part: 1 });
    // nothing is taken back from one that has begun
    await progress.adopt(next, former);
    await progress.forget([former]);
    expect(await progress.find(next)).toMatchObject({ attempt: 1, isWhole: true });
    expect(await progress.files(next)).toHaveLength(1);
  });

  it('mints, verifies and revokes API keys', async () => {
    const { apiKeys } = store;
    const person = await apiKeys.mint(TENANT, { name: 'laptop', scope: 'read' });
    const grant = { scope: 'deployment', deployment: 'sample', project: 'Sample' } as const;
    const agent = await apiKeys.mint(TENANT, { name: 'agent', ...grant });
    expect(await apiKeys.verify(person.key)).toEqual({
      tenantId: TENANT,
      keyId: person.id,
      keyName: 'laptop',
      scope: 'read',
    });
    expect(await apiKeys.verify(agent.key)).toEqual({
      tenantId: TENANT,
      keyId: agent.id,
      keyName: 'agent',
      ...grant,
    });
    expect(await apiKeys.verify(`${person.key}x`)).toBeUndefined();
    expect(await apiKeys.revoke(randomUUID(), person.id)).toBe(false);
    expect(await apiKeys.revoke(TENANT, person.id)).toBe(true);
    expect(await apiKeys.verify(person.key)).toBeUndefined();
    expect(await apiKeys.revokeOfDeployment(TENANT, 'sample')).toBe(1);
    expect(await apiKeys.verify(agent.key)).toBeUndefined();
    expect((await apiKeys.list(TENANT)).map((key) => [key.name, key.revokedAt !== undefined]).sort()).toEqual(
      [
        ['agent', true],
        ['laptop', true],
      ],
    );
  });

  it('knows a key until it expires by the clock of the database', async () => {
    const { apiKeys } = store;
    const nowMs = (await store.databaseTime()).getTime();
    const mint = (expiresAt: Date) => apiKeys.mint(TENANT, { name: 'short', scope: 'workspace', expiresAt });
    const over = await mint(new Date(nowMs - 1));
    const minute = await mint(new Date(nowMs + 60_000));
    const second = await mint(new Date(nowMs + 1_000));
    expect(await apiKeys.verify(over.key)).toBeUndefined();
    const { expiresInMs = NaN } = (await apiKeys.verify(minute.key)) ?? {};
    expect(expiresInMs).toBeGreaterThan(50_000);
    expect(expiresInMs).toBeLessThanOrEqual(60_000);
    expect(await apiKeys.verify(second.key)).toBeDefined();
    await waitFor(async () => (await apiKeys.verify(second.key)) === undefined);
    expect((await store.databaseTime()).getTime()).toBeGreaterThanOrEqual(nowMs + 1_000);
  });
});
