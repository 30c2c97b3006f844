import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { parseFilter } from '#lib/filter-language';
import { CopyBinaryReader, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '../index.js';
import { countLate } from './count-rows.js';
import type { ExportedWindow, ExportRead, ExportWindow } from './export-source.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const log = createLogger('test', 'silent');
const at = (text: string) => parseInstant(text, { zone: 'optional' }) ?? 0n;
const DAY = { startTime: at('2026-11-20'), endTime: at('2026-11-21') };

describe('late rows of an export', () => {
  const postgres = testPostgres();
  let uri: string;
  let store: TraceStore;
  let pool: Pool;
  let sql: pg.Client;

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    pool = openPool({ uri, applicationName: 'late', settings: { timezone: 'UTC', datestyle: 'ISO' }, log });
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    sql = new pg.Client({ connectionString: uri });
    // the server may stop first
    sql.on('error', () => undefined);
    await sql.connect();
  });
  afterAll(async () => {
    await sql.end();
    await store.close();
    await pool.end();
  });

  async function project(): Promise<ExportWindow> {
    const tenantId = randomUUID();
    return { tenantId, projectId: (await store.projects.ensure(tenantId, 'default')).id, ...DAY };
  }

  /** @returns their ids */
  async function add(
    { tenantId }: ExportWindow,
    count: number,
    startMs = Date.UTC(2026, 10, 20),
  ): Promise<string[]> {
    const ids = Array.from({ length: count }, () => randomUUID());
    const post = ids.map((id, n) => {
      const start_time = new Date(startMs + n * 1_000).toISOString();
      const run = { id, trace_id: id, name: 'n', run_type: 'chain', start_time };
      return { run: Buffer.from(JSON.stringify(run)), fields: { inputs: Buffer.from('{}') } };
    });
    expect((await store.ingest(tenantId, { post, patch: [] })).refused).toEqual([]);
    return ids;
  }
  async function patch({ tenantId }: ExportWindow, ids: readonly string[]): Promise<void> {
    const end_time = '2026-11-20T23:00:00Z';
    const changes = ids.map((id) => ({
      run: Buffer.from(JSON.stringify({ id, trace_id: id, end_time })),
      fields: {},
    }));
    expect((await store.ingest(tenantId, { post: [], patch: changes })).refused).toEqual([]);
  }
  async function idsOf(read: ExportRead): Promise<string[]> {
    const { columns, fields, stream } = await store.exportSource.read({ ...read, fields: ['id'] });
    const reader = new CopyBinaryReader(fields);
    const index = columns.findIndex(({ name }) => name === 'id');
    const ids: string[] = [];
    for await (const chunk of stream) {
      reader.push(chunk as Buffer);
      while (reader.next()) {
        const from = reader.offsets[index] ?? 0;
        const hex = reader.bytes.subarray(from, from + 16).toString('hex');
        ids.push(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
      }
    }
    return ids;
  }
  /** A run of an export, as its worker begins it. */
  async function begin(ofUid?: string): Promise<{ runUid: string; changedSince: string | undefined }> {
    const runUid = randomUUID();
    if (ofUid !== undefined) expect(await store.exportProgress.beginLate(runUid, ofUid)).toBe(true);
    const { changedSince } = await store.exportProgress.claim(runUid, 1);
    return { runUid, changedSince };
  }
  const count = (window: ExportedWindow) => store.exportCounts.countLate([window]);

  it('reads those that came or changed after it began, with any writers at work', async () => {
    const window = await project();
    const kept = await add(window, 500);
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; n < 12; n++) {
        const added = await add(window, 20, Date.UTC(2026, 10, 20, writer, n));
        await patch(window, [...added.slice(0, 5), ...kept.slice(n * 10 + writer, n * 10 + writer + 2)]);
      }
    });
    const first = await begin();
    const exported = await idsOf(window);
    const during = await begin(first.runUid);
    const late = await idsOf({ ...window, changedSince: during.changedSince });
    await Promise.all(writers);
    const last = await begin(during.runUid);
    const rest = await idsOf({ ...window, changedSince: last.changedSince });
    const { rows } = await sql.query<{ id: string }>(
      'SELECT id FROM runs WHERE project_id = $1 ORDER BY id',
      [window.projectId],
    );
    expect([...new Set([...exported, ...late, ...rest])].sort()).toEqual(rows.map(({ id }) => id));
    expect(rows).toHaveLength(500 + 4 * 12 * 20);
    // nothing has changed since
    expect(await idsOf({ ...window, changedSince: (await begin(last.runUid)).changedSince })).toEqual([]);
    expect(await count({ ...window, runUid: last.runUid })).toEqual([
      { rows: 0, first: undefined, last: undefined },
    ]);
  });

  it('has the root of a trace whose total changed', async () => {
    const window = await project();
    const [root = ''] = await add(window, 2);
    const first = await begin();
    const call = {
      id: randomUUID(),
      trace_id: root,
      parent_run_id: root,
      name: 'n',
      run_type: 'llm',
      start_time: '2026-11-19T12:00:00Z',
      outputs: { usage: { total_tokens: 9 } },
    };
    await store.ingest(window.tenantId, { post: [{ run: Buffer.from(JSON.stringify(call)) }], patch: [] });
    const late = await begin(first.runUid);
    expect(await idsOf({ ...window, changedSince: late.changedSince })).toEqual([root]);
    expect(await count({ ...window, runUid: first.runUid })).toMatchObject([{ rows: 1 }]);
  });

  it('orders by commit: what an older transaction wrote is late, what had committed is not', async () => {
    const window = await project();
    // a third run that nothing changes
    const [before = '', after = ''] = await add(window, 3);
    const older = new pg.Client({ connectionString: uri });
    await older.connect();
    const touch = `UPDATE runs SET name = 'x', changed_in = pg_current_xact_id() WHERE id = $1`;
    await older.query('BEGIN');
    await older.query(touch, [after]);
    // younger than the other, and ended before it
    await sql.query(touch, [before]);
    const run = await begin();
    await older.query('COMMIT');
    await older.end();
    const { changedSince } = await begin(run.runUid);
    expect(await idsOf({ ...window, changedSince })).toEqual([after]);
    const [counted] = await count({ ...window, runUid: run.runUid });
    expect(counted).toMatchObject({ rows: 1 });
  });

  it('counts those that meet the filter, with their bounds', async () => {
    const window = await project();
    const run = await begin();
    await add(window, 3);
    const [named = ''] = await add(window, 1, Date.UTC(2026, 10, 20, 12));
    await sql.query(`UPDATE runs SET name = 'wanted' WHERE id = $1`, [named]);
    await add(window, 1, Date.UTC(2026, 10, 21));
    const filtered = { ...window, filter: parseFilter('eq(name, "wanted")') };
    const { changedSince } = await begin(run.runUid);
    expect(await idsOf({ ...filtered, changedSince })).toEqual([named]);
    const [all, some] = await store.exportCounts.countLate([
      { ...window, runUid: run.runUid },
      { ...filtered, runUid: run.runUid },
    ]);
    expect([all, some]).toEqual([
      { rows: 4, first: at('2026-11-20'), last: at('2026-11-20T12:00') },
      { rows: 1, first: at('2026-11-20T12:00'), last: at('2026-11-20T12:00') },
    ]);
  });

  it('answers that they are unknown without a mark, and where counting takes too long', async () => {
    const window = await project();
    const run = await begin();
    const none = { ...window, runUid: randomUUID() };
    expect(await countLate(pool, [{ ...window, runUid: run.runUid }, none], 0)).toEqual([
      'too long',
      'no mark',
    ]);
    // made before runs had marks
    await sql.query('UPDATE export_progress SET read_from = NULL WHERE run_uid = $1', [run.runUid]);
    expect(await count({ ...window, runUid: run.runUid })).toEqual(['no mark']);
    expect(await store.exportProgress.beginLate(randomUUID(), run.runUid)).toBe(false);
  });

  it('knows nothing by marks of another cluster, whatever their numbers are', async () => {
    const window = await project();
    const run = await begin();
    const late = await begin(run.runUid);
    expect(late.changedSince).toBeDefined();
    // the state after a restore from a dump: the transactions of this cluster have other numbers
    await sql.query(
      `UPDATE export_progress SET read_in = '1', changed_since_in = '1' WHERE run_uid = ANY($1)`,
      [[run.runUid, late.runUid]],
    );
    expect(await count({ ...window, runUid: run.runUid })).toEqual(['no mark']);
    expect(await store.exportProgress.find(run.runUid)).toMatchObject({ hasMark: false });
    expect(await store.exportProgress.beginLate(randomUUID(), run.runUid)).toBe(false);
    // one that had begun reads nothing by such a mark either
    expect((await store.exportProgress.claim(late.runUid, 2)).changedSince).toBeUndefined();
    const adopting = randomUUID();
    expect(await store.exportProgress.adopt(adopting, run.runUid)).toBe(true);
    expect(await store.exportProgress.beginLate(randomUUID(), adopting)).toBe(false);
  });

  it('keeps the mark of the first attempt, also with what is adopted', async () => {
    const window = await project();
    const run = await begin();
    const [late = ''] = await add(window, 1);
    await store.exportProgress.fail(run.runUid, 1, 'x');
    await store.exportProgress.claim(run.runUid, 2);
    expect(await count({ ...window, runUid: run.runUid })).toMatchObject([{ rows: 1 }]);
    const cursor = { startTime: DAY.startTime, id: randomUUID(), traceId: randomUUID() };
    await store.exportProgress.completePart(run.runUid, 2, { part: 0, key: 'k', rows: 0, bytes: 1 }, cursor);
    const next = randomUUID();
    expect(await store.exportProgress.adopt(next, run.runUid)).toBe(true);
    await store.exportProgress.claim(next, 1);
    expect(await count({ ...window, runUid: next })).toMatchObject([{ rows: 1 }]);
    const { changedSince } = await begin(next);
    expect(await idsOf({ ...window, changedSince })).toEqual([late]);
  });
});
