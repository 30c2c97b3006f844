import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { formatInstant, parseInstant, systemClock } from '#lib/time';
import { openTraceStore, type RunOperation, type TraceStore } from './index.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const TENANT = randomUUID();

const open = (uri: string) => openTraceStore({ uri, poolSize: 4, log, clock: systemClock });
const prepare = async (uri: string): Promise<void> => {
  const store = open(uri);
  await store.migrate();
  await store.close();
};

interface Shape {
  id: string;
  trace_id?: string;
  start_time?: unknown;
  [field: string]: unknown;
}

const segment = (time: string, id: string) => `${time.replace(/[-:.]/g, '')}${id}`;
/** A root run as the SDK sends it. */
const root = (over: Partial<Shape> = {}): Shape => {
  const id = over.id ?? randomUUID();
  const start_time = over.start_time ?? '2026-11-20T21:59:04.635001Z';
  return {
    id,
    trace_id: id,
    name: 'agent',
    run_type: 'chain',
    session_name: 'demo',
    start_time,
    ...(typeof start_time === 'string' ? { dotted_order: segment(start_time, id) } : {}),
    ...over,
  };
};
const op = (shape: Shape | Partial<Shape>, fields?: Record<string, string>): RunOperation => ({
  run: Buffer.from(JSON.stringify(shape)),
  fields:
    fields && Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text)])),
});

describe('the trace store', () => {
  let store: TraceStore;
  let client: pg.Client;
  let uri = '';

  beforeAll(async () => {
    uri = (await postgres.freshDatabase(prepare)).uri;
    store = open(uri);
    client = new pg.Client({ connectionString: uri });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });

  const get = async (id: string) => {
    const run = await store.runs.get(TENANT, id);
    if (!run) throw new Error('no such run');
    return run;
  };
  const text = (bytes: Buffer | undefined) => bytes?.toString();

  it('migrates once when several programs start at the same time', async () => {
    const fresh = await postgres.freshDatabase();
    const stores = [open(fresh.uri), open(fresh.uri), open(fresh.uri)];
    await Promise.all(stores.map((one) => one.migrate()));
    await stores[0]?.migrate();
    await Promise.all(stores.map((one) => one.close()));
  });

  it('keeps payloads as the bytes that arrived', async () => {
    const run = root();
    const inputs = '{"b": 1.0, "a":1e400, "b":"\\u00e9\\/é\\u0000", "n": 12345678901234567890 }';
    const outputs = ' [1 , 2]\n';
    const result = await store.ingest(TENANT, {
      post: [
        op(run, { inputs, outputs, extra: '{"metadata":{"session_id":"th1"}}', error: '"boom \\"x\\""' }),
      ],
      patch: [],
    });
    expect(result).toMatchObject({ accepted: 1, erased: 0, refused: [] });
    const { row, payloads } = await get(run.id);
    expect(text(payloads.inputs)).toBe(inputs);
    expect(text(payloads.outputs)).toBe('[1 , 2]');
    expect(text(payloads.error)).toBe('boom "x"');
    expect(row).toMatchObject({ status: 'error', threadId: 'th1', isRoot: true, parentRunIds: [] });
    expect(formatInstant(row.startTime)).toBe('2026-11-20T21:59:04.635001Z');
  });

  it('keeps payloads inside of the run object byte for byte, too', async () => {
    const run = root();
    const text1 = JSON.stringify(run).replace(
      /}$/,
      ',"inputs":{"x" : 1.10},"outputs":null,"tags":["a","b\\u0000"]}',
    );
    await store.ingest(TENANT, { post: [{ run: Buffer.from(text1) }], patch: [] });
    const { row, payloads } = await get(run.id);
    expect(text(payloads.inputs)).toBe('{"x" : 1.10}');
    expect(payloads.outputs).toBeUndefined();
    expect(row.tags).toEqual(['a', 'b\uFFFD']);
  });

  it('derives tokens, costs, ancestors and the first token', async () => {
    const parent = root();
    const id = randomUUID();
    const start = '2026-11-20T21:59:05.000002Z';
    const child = root({
      id,
      trace_id: parent.id,
      parent_run_id: parent.id,
      run_type: 'llm',
      start_time: start,
      end_time: 1795211946000,
      dotted_order: `${String(parent['dotted_order'])}.${segment(start, id)}`,
      tags: ['one', 'two, "3"'],
      reference_example_id: null,
    });
    await store.ingest(TENANT, {
      post: [
        op(parent),
        op(child, {
          outputs:
            '{"y":1,"usage_metadata":{"input_tokens":3,"output_tokens":4,"total_tokens":7,"total_cost":0.0000123}}',
          events:
            '[{"name":"start"},{"name":"new_token","time":"2026-11-20T21:59:05.5"},{"name":"new_token","time":"2027-01-01"}]',
        }),
      ],
      patch: [],
    });
    const { row } = await get(id);
    expect(row).toMatchObject({
      promptTokens: 3,
      completionTokens: 4,
      totalTokens: 7,
      totalCost: '0.0000123000',
      isRoot: false,
      parentRunIds: [parent.id],
      status: 'success',
      tags: ['one', 'two, "3"'],
    });
    expect(row.firstTokenTime && formatInstant(row.firstTokenTime)).toBe('2026-11-20T21:59:05.500000Z');
    expect(row.endTime && formatInstant(row.endTime)).toBe('2026-11-20T21:59:06.000000Z');
  });

  it('merges an update into its create, in either order and in one batch', async () => {
    for (const order of ['create first', 'update first', 'together'] as const) {
      const run = root({ tags: ['t'], run_type: 'llm' });
      const post = op(run, { inputs: '{"i":1}', extra: '{"metadata":{}}' });
      const patch = op(
        { ...run, end_time: '2026-11-20T22:00:00Z' },
        { outputs: '{"o":2}', extra: '{"metadata":{"usage_metadata":{"input_tokens":1,"output_tokens":1}}}' },
      );
      if (order === 'together') await store.ingest(TENANT, { post: [post], patch: [patch] });
      else
        for (const one of order === 'create first' ? [post, patch] : [patch, post])
          await store.ingest(TENANT, one === post ? { post: [one], patch: [] } : { post: [], patch: [one] });
      const { row, payloads } = await get(run.id);
      expect({ order, status: row.status, totalTokens: row.totalTokens, name: row.name }).toEqual({
        order,
        status: 'success',
        totalTokens: 2,
        name: 'agent',
      });
      expect([text(payloads.inputs), text(payloads.outputs)]).toEqual(['{"i":1}', '{"o":2}']);
      expect(text(payloads.extra)).toContain('usage_metadata');
    }
  });

  it('keeps an update without a start time until its create comes', async () => {
    const run = root();
    const patch = { end_time: '2026-11-20T22:00:00Z', outputs: { late: true } };
    const early: RunOperation = {
      id: run.id,
      run: Buffer.from(JSON.stringify(patch)),
      fields: { error: Buffer.from('"bad"') },
    };
    expect(await store.ingest(TENANT, { post: [], patch: [early] })).toMatchObject({
      accepted: 1,
      erased: 0,
      refused: [],
    });
    expect(await store.runs.get(TENANT, run.id)).toBeUndefined();
    await store.ingest(TENANT, { post: [op(run)], patch: [] });
    const { row, payloads } = await get(run.id);
    expect(row.status).toBe('error');
    expect(text(payloads.outputs)).toBe('{"late":true}');
    expect(text(payloads.error)).toBe('bad');
    const waiting = await client.query('SELECT count(*)::int AS n FROM run_patches_waiting');
    expect(waiting.rows[0]).toEqual({ n: 0 });
  });

  it('loses no update when creates and updates race from many connections', async () => {
    const runs = Array.from({ length: 60 }, () => root());
    const other = open(uri);
    const patchOf = (run: Shape) => ({
      id: run.id,
      end_time: '2026-11-20T22:00:00Z',
      outputs: { done: run.id },
    });
    await Promise.all(
      runs.flatMap((run, i) => [
        (i % 2 ? store : other).ingest(TENANT, { post: [op(run, { inputs: '{}' })], patch: [] }),
        (i % 3 ? store : other).ingest(TENANT, { post: [], patch: [op(patchOf(run))] }),
      ]),
    );
    for (const run of runs) {
      const { row, payloads } = await get(run.id);
      expect([row.status, text(payloads.outputs)]).toEqual(['success', JSON.stringify({ done: run.id })]);
    }
    await other.close();
  });

  it('stores a batch once when it is sent twice, also at the same time', async () => {
    const batch = {
      post: Array.from({ length: 30 }, () => op(root({ session_name: 'twice' }), { inputs: '{"a":1}' })),
      patch: [],
    };
    const reversed = { post: [...batch.post].reverse(), patch: [] };
    await Promise.all([
      store.ingest(TENANT, batch),
      store.ingest(TENANT, reversed),
      store.ingest(TENANT, batch),
    ]);
    const project = await store.projects.find(TENANT, { name: 'twice' });
    const count = await client.query('SELECT count(*)::int AS n FROM runs WHERE project_id = $1', [
      project?.id,
    ]);
    expect(count.rows[0]).toEqual({ n: 30 });
  });

  it('makes one partition for a day that several programs write to at once', async () => {
    const stores = [open(uri), open(uri), open(uri)];
    const days = [
      '2025-02-28T23:59:59.999999Z',
      '2025-03-01T00:00:00Z',
      '1970-01-01T00:00:00Z',
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999999Z',
      '1969-12-31T23:59:59.999999Z',
    ];
    const runs = stores.map(() => days.map((start_time) => root({ start_time })));
    await Promise.all(
      stores.map((one, i) => one.ingest(TENANT, { post: (runs[i] ?? []).map((run) => op(run)), patch: [] })),
    );
    for (const run of runs.flat())
      expect(formatInstant((await get(run.id)).row.startTime)).toBe(
        formatInstant(parseInstant(String(run.start_time), { zone: 'optional' }) ?? 0n),
      );
    const tables = await client.query(`SELECT to_regclass('runs_20250301_20250401') IS NOT NULL AS there`);
    expect(tables.rows[0]).toEqual({ there: true });
    await Promise.all(stores.map((one) => one.close()));
  });

  it('refuses wrong operations at the place the caller gave them, and stores the others', async () => {
    const good = root();
    const operations = [
      op({ ...root(), start_time: 'yesterday', tags: 'x' }),
      op(good),
      { run: Buffer.from('{"id": ') },
      op({ ...root(), id: 'nope' }),
      op({ ...root(), dotted_order: 'abc' }),
      op(root(), { inputs: '{"a":}' }),
      op({ ...root(), session_id: randomUUID() }),
      op({ id: randomUUID() }),
    ];
    const result = await store.ingest(TENANT, {
      post: operations.map((operation, i) => ({ ...operation, place: ['here', i] })),
      patch: [],
    });
    expect(result.accepted).toBe(1);
    const places = result.refused.map((problem) => `${problem.loc.join('.')} ${problem.type}`);
    expect(places.sort()).toEqual(
      [
        'here.0.start_time datetime_parsing',
        'here.0.tags list_type',
        'here.2 json_invalid',
        'here.3.id uuid_parsing',
        'here.4.dotted_order value_error',
        'here.5.inputs json_invalid',
        'here.6.session_id not_found',
        'here.7.name missing',
        'here.7.run_type missing',
      ].sort(),
    );
    await get(good.id);
  });

  it('hides the runs of another tenant', async () => {
    const run = root();
    await store.ingest(TENANT, { post: [op(run)], patch: [] });
    expect(await store.runs.get(randomUUID(), run.id)).toBeUndefined();
  });

  it('places a run without trace or dotted order under its stored parent', async () => {
    const parent = root();
    await store.ingest(TENANT, { post: [op(parent)], patch: [] });
    const id = randomUUID();
    await store.ingest(TENANT, {
      post: [
        op({ id, name: 'child', run_type: 'tool', parent_run_id: parent.id, start_time: 1795211945000 }),
      ],
      patch: [],
    });
    expect((await get(id)).row).toMatchObject({
      traceId: parent.id,
      parentRunIds: [parent.id],
      projectId: expect.any(String),
      dottedOrder: `${String(parent['dotted_order'])}.20261120T215905000000Z${id}`,
    });
  });

  it('deletes a project with its runs, and makes it anew when runs come again', async () => {
    const run = root({ session_name: 'short-lived' });
    await store.ingest(TENANT, { post: [op(run)], patch: [] });
    const project = await store.projects.find(TENANT, { name: 'short-lived' });
    expect(await store.projects.delete(TENANT, project?.id ?? '')).toBe(true);
    expect(await store.runs.get(TENANT, run.id)).toBeUndefined();
    await store.ingest(TENANT, { post: [op(run)], patch: [] });
    expect((await get(run.id)).row.projectId).not.toBe(project?.id);
  });

  it('keeps long payloads whole', async () => {
    const run = root();
    const inputs = JSON.stringify({ text: 'é'.repeat(3_000_000) });
    await store.ingest(TENANT, { post: [op(run, { inputs })], patch: [] });
    expect(text((await get(run.id)).payloads.inputs)).toBe(inputs);
  });
});
