import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { openPool, type Queryable } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { instantOf, systemClock } from '#lib/time';
import { atOnce, MAX_JSON_DEPTH } from '#lib/json';
import { openTraceStore, splitBatch, type RunOperation, type TraceStore } from '../index.js';
import { findRun } from '../query/find-run.js';
import { loadControlSchema } from '../control-schema.js';
import { ControlTables } from '../control/control-tables.js';
import { ProjectDirectory } from '../project/project-directory.js';
import { ProjectTable } from '../project/project-table.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import { findPlaces } from '../run/run-keys.js';
import { DayPartitions } from './day-partitions.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const TENANT = randomUUID();
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const START = '2026-11-20T10:00:00Z';

function runOf(id: string, more: Record<string, unknown> = {}): Buffer {
  return Buffer.from(JSON.stringify({ id, name: 'n', run_type: 'chain', start_time: START, ...more }));
}

describe('a trace store under hostile input', () => {
  let store: TraceStore;
  let client: pg.Client;
  let uri: string;

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    const log = createLogger('test', 'silent');
    store = openTraceStore({
      uri,
      poolSize: 3,
      log,
      clock: systemClock,
      waiting: { patches: 5, bytes: 20_000, bytesOfRun: 16_000 },
      maxMonthsAhead: 5,
    });
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });

  const placed = (kind: string, operations: readonly RunOperation[]) =>
    operations.map((operation, index) => ({ ...operation, place: [kind, index] }));
  const post = (...operations: RunOperation[]) =>
    store.ingest(TENANT, { post: placed('post', operations), patch: [] });
  const patch = (...operations: RunOperation[]) =>
    store.ingest(TENANT, { post: [], patch: placed('patch', operations) });
  const outputsOf = async (id: string) => (await store.runs.get(TENANT, id))?.payloads.outputs?.toString();

  it('keeps a waiting update whose separate payload is nested deeply', async () => {
    for (const levels of [MAX_JSON_DEPTH - 1, MAX_JSON_DEPTH]) {
      const id = randomUUID();
      const outputs = nested(levels);
      const { accepted, refused } = await patch({
        id,
        run: Buffer.from('{}'),
        fields: { outputs: Buffer.from(outputs) },
      });
      await post({ run: runOf(id) });
      // taken and kept, or refused: never taken and lost
      if (accepted === 1) expect(await outputsOf(id)).toBe(outputs);
      else expect(refused).toMatchObject([{ loc: ['patch', 0, 'outputs'], type: 'json_invalid' }]);
      expect(accepted).toBe(levels < MAX_JSON_DEPTH ? 1 : 0);
    }
  });

  it('accepts the same depth in a batch, in a single run, and in a separate payload', async () => {
    const deep = nested(MAX_JSON_DEPTH - 1);
    const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
    const [inBatch, alone] = [ids[0], ids[1]].map((id) =>
      runOf(id).toString().replace(/}$/, `,"outputs":${deep}}`),
    );
    await store.ingest(TENANT, atOnce(splitBatch(Buffer.from(`{"post":[${inBatch ?? ''}]}`))));
    await post({ run: Buffer.from(alone ?? '') });
    await post({ run: runOf(ids[2]), fields: { outputs: Buffer.from(deep) } });
    for (const id of ids) expect(await outputsOf(id)).toBe(deep);
  });

  it.each<[string, (id: string) => Buffer]>([
    ['is nested too deeply', (id) => Buffer.from(`{"id":"${id}","inputs":${nested(500)}}`)],
    ['is not UTF-8', (id) => Buffer.from(`{"id":"${id}","inputs":"\xff"}`, 'latin1')],
  ])('refuses a run of a batch that %s, and stores the others', async (_name, bad) => {
    const good = randomUUID();
    const body = Buffer.concat([
      Buffer.from('{"post":['),
      bad(randomUUID()),
      Buffer.from(','),
      runOf(good),
      Buffer.from(']}'),
    ]);
    const result = await store.ingest(TENANT, atOnce(splitBatch(body)));
    expect(result).toMatchObject({ accepted: 1, refused: [{ loc: ['post', 0], type: 'json_invalid' }] });
    expect(await store.runs.get(TENANT, good)).toBeDefined();
  });

  it('builds no values of oversized small members', async () => {
    const long = JSON.stringify(Array.from({ length: 700_000 }, () => 1));
    for (const name of ['id', 'name', 'tags', 'start_time', 'trace_tier'])
      expect(await post({ id: randomUUID(), run: Buffer.from(`{"${name}":${long},"x":1}`) })).toMatchObject({
        accepted: 0,
        refused: expect.arrayContaining([
          { loc: ['post', 0, name], msg: expect.any(String), type: 'too_long' },
        ]),
      });
    const id = randomUUID();
    const outputs = `{"usage_metadata":{"input_tokens":1,"x":${long}},"llm_output":{"token_usage":{"x":${long}}}}`;
    const events = `[{"name":"new_token","time":${long}},{"name":${long}}]`;
    await post({
      run: runOf(id),
      fields: { outputs: Buffer.from(outputs), events: Buffer.from(events) },
    });
    expect((await store.runs.get(TENANT, id))?.row).toMatchObject({
      totalTokens: undefined,
      firstTokenTime: undefined,
    });
    expect(await outputsOf(id)).toBe(outputs);
  });

  it.each([
    ['more than 1,000 tags', Array.from({ length: 1001 }, () => 'a')],
    ['tags of more than 65,536 characters', ['x'.repeat(40_000), 'x'.repeat(40_000)]],
  ])('refuses %s', async (_name, tags) => {
    expect(await post({ run: runOf(randomUUID(), { tags }) })).toMatchObject({
      accepted: 0,
      erased: 0,
      refused: [{ loc: ['post', 0, 'tags'], msg: expect.stringContaining('1000 items'), type: 'too_long' }],
    });
  });

  /** The root, the runs below it and the run itself, each with a segment. */
  const chain = (ids: readonly string[]): string => ids.map((id) => `20261120T100000000000Z${id}`).join('.');

  it('puts no run below hundreds of others by the id of its parent alone', async () => {
    const ids = Array.from({ length: 103 }, () => randomUUID());
    const upTo = (depth: number) => ({ id: ids[depth - 1] ?? '', dotted_order: chain(ids.slice(0, depth)) });
    const [deep, deeper] = [upTo(101), upTo(102)];
    for (const { id, ...more } of [deep, deeper]) await post({ run: runOf(id, more) });
    const child = randomUUID();
    const below = (parent_run_id: string, id: string = randomUUID()) => ({
      run: runOf(id, { parent_run_id }),
    });
    expect(await post(below(deep.id, child), below(deeper.id))).toMatchObject({
      accepted: 1,
      erased: 0,
      refused: [
        {
          loc: ['post', 1, 'dotted_order'],
          msg: 'dotted_order is required below a run with more than 100 ancestors; send it with the run',
          type: 'missing',
        },
      ],
    });
    expect((await store.runs.get(TENANT, child))?.row.parentRunIds).toEqual(ids.slice(0, 101));
    const own = { ...upTo(103), parent_run_id: deeper.id };
    const both = await post({ run: runOf(own.id, own) }, below(deeper.id));
    expect(both).toMatchObject({ accepted: 1, refused: [{ loc: ['post', 1, 'dotted_order'] }] });
  });

  it('reads a run no further than its length when there is no room for it', async () => {
    const id = randomUUID();
    await post({ run: runOf(id), fields: { inputs: Buffer.from('"ä"'), error: Buffer.from('"abc"') } });
    let reads = 0;
    const held: number[] = [];
    const payloads = new PostgresPayloadStore();
    const counting = {
      size: payloads.size.bind(payloads),
      get: (...given: Parameters<typeof payloads.get>) => {
        reads++;
        return payloads.get(...given);
      },
    };
    const hold = (bytes: number): void => {
      held.push(bytes);
      if (held.length === 1) throw new Error('no room');
    };
    const read = () => findRun(client, counting, { tenantId: TENANT, id, hold });
    await expect(read()).rejects.toThrow('no room');
    expect(reads).toBe(0);
    expect((await read())?.payloads.error?.toString()).toBe('abc');
    expect(held).toEqual([7, 7]);
  });

  it('refuses batches of more than 20,000 operations', () => {
    expect(() => atOnce(splitBatch(Buffer.from(`{"post":[${'{},'.repeat(50_000)}{}]}`)))).toThrow(/20000/);
    expect(() =>
      atOnce(
        splitBatch(Buffer.from(`{"post":[${'{},'.repeat(15_000)}{}],"patch":[${'1,'.repeat(15_000)}1]}`)),
      ),
    ).toThrow(/20000/);
  });

  it('reports a hundred problems at most', async () => {
    const { accepted, refused } = await post(
      ...Array.from({ length: 500 }, () => ({ run: Buffer.from('{}') })),
      { run: runOf(randomUUID()) },
    );
    expect([accepted, refused.length]).toEqual([1, 100]);
  });

  it.each([
    ['an empty cost', '{"total_cost":"","prompt_cost":"x","completion_cost":"0x10"}', undefined],
    ['a cost in words', '{"total_cost":"0.25"}', '0.2500000000'],
    ['a cost that is too large', '{"total_cost":1e300}', undefined],
  ])('reads %s', async (_name, usage, totalCost) => {
    const id = randomUUID();
    await post({
      run: runOf(id, { run_type: 'llm' }),
      fields: { outputs: Buffer.from(`{"usage_metadata":${usage}}`) },
    });
    expect((await store.runs.get(TENANT, id))?.row).toMatchObject({
      totalCost,
      promptCost: undefined,
      completionCost: undefined,
    });
  });

  it.each([
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00+05:60',
    '2026-01-01T00:00:00-99:99',
    '10000-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '2026-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
  ])('refuses the time %s', async (start_time) => {
    const { refused } = await post({ run: runOf(randomUUID(), { start_time }) });
    expect(refused).toMatchObject([{ loc: ['post', 0, 'start_time'], type: 'datetime_parsing' }]);
  });

  it('keeps a run that ends before it starts, and runs at both ends of the calendar', async () => {
    const times = [
      [START, '2026-11-19T00:00:00Z'],
      ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z'],
      ['9999-12-31T23:59:59.999999Z', '0001-01-01T00:00:00Z'],
    ] as const;
    for (const [start_time, end_time] of times) {
      const id = randomUUID();
      expect((await post({ run: runOf(id, { start_time, end_time }) })).accepted).toBe(1);
      expect((await store.runs.get(TENANT, id))?.row.status).toBe('success');
    }
  });

  it('keeps the same id in two tenants, and in two traces, apart', async () => {
    const [id, other, one, two] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()] as const;
    await store.ingest(other, { post: [{ run: runOf(id, { name: 'theirs' }) }], patch: [] });
    await post({ run: runOf(id, { name: 'ours', trace_id: one }) });
    await post({ run: runOf(id, { name: 'ours too', trace_id: two }) });
    expect((await store.runs.get(other, id))?.row.name).toBe('theirs');
    const names = await client.query<{ name: string }>(
      'SELECT name FROM runs WHERE tenant_id = $1 AND id = $2 ORDER BY name',
      [TENANT, id],
    );
    expect(names.rows.map((row) => row.name)).toEqual(['ours', 'ours too']);
  });

  const partitions = async (): Promise<number> => {
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'runs'::regclass`,
    );
    return rows[0]?.n ?? 0;
  };
  const DAY_MS = 86_400_000;
  const onDay = (ms: number) => ({ run: runOf(randomUUID(), { start_time: new Date(ms).toISOString() }) });

  it('keeps the runs of a century of days in few partitions, and leaves room for other tenants', async () => {
    const before = await partitions();
    const last = Date.now() - 8 * DAY_MS;
    const days = Array.from({ length: 2_000 }, (_, n) => last - n * 10 * DAY_MS);
    const { accepted } = await post(...days.map(onDay));
    expect(accepted).toBe(2_000);
    expect((await partitions()) - before).toBeLessThan(110);
    const theirs = await store.ingest(randomUUID(), {
      post: placed('post', [onDay(Date.UTC(1987, 6, 5)), onDay(last - 45 * DAY_MS), onDay(Date.now())]),
      patch: [],
    });
    expect(theirs.accepted).toBe(3);
    expect((await partitions()) - before).toBeLessThan(112);
  });

  it('refuses more than a few months ahead, and never the days around today', async () => {
    const before = await partitions();
    const ahead = Array.from({ length: 40 }, (_, n) => Date.now() + (40 + n * 31) * DAY_MS);
    const { accepted, refused } = await post(...ahead.map(onDay));
    expect(accepted).toBe(5);
    expect((await partitions()) - before).toBe(5);
    expect(refused).toContainEqual({
      loc: ['post', 39, 'start_time'],
      msg: expect.stringContaining('ahead'),
      type: 'too_many_days',
    });
    // months that are there, and years that share a partition, are as good as ever
    const [first = 0] = ahead;
    const others = [
      first,
      Date.now() + 7 * DAY_MS,
      Date.now() - 7 * DAY_MS,
      Date.UTC(1950, 0, 1),
      Date.UTC(2150, 0, 1),
    ];
    expect((await post(...others.map(onDay))).accepted).toBe(5);
  });

  it('looks at most once for room for thousands of days ahead', async () => {
    const pool = openPool({ uri, applicationName: 'days', log: createLogger('test', 'silent') });
    let transactions = 0;
    pool.on('acquire', () => transactions++);
    const days = new DayPartitions(pool, 0);
    const ahead = Array.from({ length: 3_000 }, (_, n) => instantOf(new Date(Date.UTC(2060, 0, 1 + n))));
    const isThere = await days.ensure(ahead);
    expect(ahead.some(isThere)).toBe(false);
    expect(transactions).toBe(1);
    await pool.end();
  });

  it('looks up thousands of projects at once', async () => {
    const pool = openPool({ uri, applicationName: 'projects', log: createLogger('test', 'silent') });
    let statements = 0;
    pool.on('acquire', () => statements++);
    const table = new ProjectTable(new ControlTables(pool, loadControlSchema), pool);
    const { id } = await table.ensure(TENANT, 'here');
    const before = statements;
    const unknown = Array.from({ length: 3_000 }, () => ({ kind: 'id', id: randomUUID() }) as const);
    const wanted = [{ kind: 'id', id }, ...unknown, { kind: 'name', name: 'here' }] as const;
    const found = await new ProjectDirectory(table, systemClock).resolveAll(TENANT, wanted);
    expect(found).toEqual([id, ...unknown.map(() => undefined), id]);
    expect(statements - before).toBe(1);
    await pool.end();
  });

  it('serves others while the batches of a tenant wait for one another', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const project = await store.projects.ensure(tenant, 'default');
    const { key } = await store.apiKeys.mint(other, { name: 'k', scope: 'ingest' });
    // as the deletion of a large project does for minutes
    await client.query('BEGIN');
    await client.query('SELECT FROM projects WHERE tenant_id = $1 AND id = $2 FOR UPDATE', [
      tenant,
      project.id,
    ]);
    const stuck = Array.from({ length: 6 }, () =>
      store.ingest(tenant, { post: [{ run: runOf(randomUUID()) }], patch: [] }),
    );
    await waitFor(async () => {
      const { rows } = await client.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return (rows[0]?.n ?? 0) > 0;
    });
    expect(await store.apiKeys.verify(key)).toMatchObject({ tenantId: other });
    const theirs = await store.ingest(other, { post: [{ run: runOf(randomUUID()) }], patch: [] });
    expect(theirs.accepted).toBe(1);
    await client.query('COMMIT');
    for (const result of await Promise.all(stuck)) expect(result.accepted).toBe(1);
  });

  it('serves others, and writes few statements, while refusals of a tenant wait for one another', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const problem = { type: 'json_invalid', message: 'not JSON' };
    await store.ingestProblems.refuse(tenant, problem);
    await client.query('BEGIN');
    await client.query('SELECT FROM ingest_problem_counts WHERE tenant_id = $1 FOR UPDATE', [tenant]);
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const stuck = Array.from({ length: 50 }, () => store.ingestProblems.refuse(tenant, problem));
    await waitFor(async () => {
      const { rows } = await client.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return (rows[0]?.n ?? 0) > 0;
    });
    expect(await store.projects.list(other, { limit: 1 })).toEqual([]);
    await client.query('COMMIT');
    await Promise.all(stuck);
    const writes = query.mock.calls.filter(([text]) => String(text).includes('INSERT INTO ingest_problems'));
    query.mockRestore();
    expect(writes.length).toBeLessThanOrEqual(2);
    const { counts } = await store.ingestProblems.list(tenant, { limit: 1 });
    expect(counts).toMatchObject([{ type: 'json_invalid', count: 51 }]);
  });

  describe('a flood of updates whose runs never arrive', () => {
    const orphan = (size = 1): RunOperation => ({
      id: randomUUID(),
      run: Buffer.from(JSON.stringify({ outputs: 'x'.repeat(size) })),
    });
    const waiting = async (): Promise<number> => {
      const found = await client.query<{ n: number }>('SELECT count(*)::int AS n FROM run_patches_waiting');
      return found.rows[0]?.n ?? 0;
    };
    beforeEach(() => client.query('DELETE FROM run_patches_waiting'));

    it('stores updates without a run up to their limit, and names the refused ones', async () => {
      const operations = Array.from({ length: 7 }, () => orphan());
      const result = await patch(...operations);
      expect(result).toMatchObject({
        accepted: 5,
        refused: [
          { loc: ['patch', 5], type: 'too_many_waiting' },
          { loc: ['patch', 6], type: 'too_many_waiting' },
        ],
      });
      expect(await waiting()).toBe(5);
      expect(await patch(orphan())).toMatchObject({ accepted: 0, refused: [{ loc: ['patch', 0] }] });
      // another tenant has its own quota
      expect((await store.ingest(randomUUID(), { post: [], patch: [orphan()] })).accepted).toBe(1);
      // the create that came after all frees quota
      await post({ run: runOf(operations[0]?.id ?? '') });
      expect((await patch(orphan())).accepted).toBe(1);
    });

    it('stores updates without a run up to the limit of bytes', async () => {
      expect((await patch(orphan(15_000), orphan(15_000), orphan(10))).accepted).toBe(2);
    });

    it('bounds the bytes that wait for one run, and applies those of many in portions', async () => {
      const runs = [orphan(6_000), orphan(6_000), orphan(6_000)];
      expect((await patch(...runs)).accepted).toBe(3);
      const ids = runs.map(({ id }) => id ?? '');
      const result = await post(...ids.map((id) => ({ run: runOf(id) })));
      expect(result.accepted).toBe(3);
      for (const id of ids) expect(await outputsOf(id)).toHaveLength('""'.length + 6_000);
      const one = orphan(9_000);
      expect((await patch(one, { ...one })).accepted).toBe(1);
    });

    it('keeps an update for its run when another run has its id in another trace', async () => {
      const [id, mine, theirs] = [randomUUID(), randomUUID(), randomUUID()] as const;
      await patch({ id, run: Buffer.from(JSON.stringify({ trace_id: mine, outputs: 'mine' })) });
      await post({ run: runOf(id, { trace_id: theirs }) });
      expect(await waiting()).toBe(1);
      await post({ run: runOf(id, { trace_id: mine }) });
      expect(await waiting()).toBe(0);
      const { rows } = await client.query<{ trace_id: string; outputs: string | null }>(
        'SELECT trace_id, outputs FROM run_payloads WHERE tenant_id = $1 AND id = $2',
        [TENANT, id],
      );
      expect(new Map(rows.map((row) => [row.trace_id, row.outputs]))).toEqual(
        new Map([
          [mine, '"mine"'],
          [theirs, null],
        ]),
      );
    });

    it('keeps updates without a run for a day', async () => {
      const old = orphan();
      await patch(old, orphan());
      await client.query(
        `UPDATE run_patches_waiting SET received_at = now() - interval '25 hours' WHERE run_id = $1`,
        [old.id],
      );
      await store.tidy();
      expect(await waiting()).toBe(1);
      await post({ run: runOf(old.id ?? '') });
      expect(await outputsOf(old.id ?? '')).toBeUndefined();
    });
  });

  it('reads one place of a run whose id stands in thousands of traces', async () => {
    const id = randomUUID();
    await post({ run: runOf(id) });
    await client.query(
      `INSERT INTO run_keys SELECT tenant_id, id, gen_random_uuid(), start_time, project_id
      FROM run_keys, generate_series(1, 3000) WHERE id = $1`,
      [id],
    );
    let rows = 0;
    const counting = {
      query: async (query: pg.QueryConfig) => {
        const result = await client.query(query);
        rows += result.rows.length;
        return result;
      },
    } as Queryable;
    const wanted = [
      { id, traceId: id },
      { id, traceId: undefined },
    ];
    const [own, any] = await findPlaces(counting, TENANT, wanted, { lock: true });
    expect(own).toMatchObject({ id, traceId: id });
    expect(any).toMatchObject({ id });
    expect(rows).toBe(2);
    const payloads = { get: async () => ({}), size: async () => 0 };
    await findRun(counting, payloads, { tenantId: TENANT, id });
    expect(rows).toBeLessThanOrEqual(4);
    const changed = await patch({ id, run: Buffer.from(`{"trace_id":"${id}"}`) });
    expect(changed).toMatchObject({ accepted: 1, erased: 0, refused: [] });
  });
});
