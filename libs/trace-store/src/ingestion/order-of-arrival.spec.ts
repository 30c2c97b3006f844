import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { dropAndNoteOverdue } from './early-updates.js';
import { portionsByWaiting } from './waiting-patches.js';
import { lookUpArriving } from './run-changer.js';
import { openTraceStore, type RunOperation, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const START = '2026-11-20T12:00:00Z';

type Shape = Readonly<Record<string, unknown>>;
const operation = (run: Shape): RunOperation => ({
  run: Buffer.from(JSON.stringify(run)),
  place: [String(run['id'])],
});
const post = (id: string, over: Shape = {}): Shape => ({
  id,
  trace_id: id,
  name: 'n',
  run_type: 'chain',
  session_name: 'p',
  start_time: START,
  ...over,
});

describe('ingestion in any order', () => {
  let store: TraceStore;
  let client: pg.Client;
  let uri: string;
  let tenant: string;

  beforeAll(async () => {
    uri = (await postgres.freshDatabase(prepareStore)).uri;
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });
  beforeEach(() => {
    tenant = randomUUID();
  });

  const creates = (...runs: Shape[]) => store.ingest(tenant, { post: runs.map(operation), patch: [] });
  const updates = (...runs: Shape[]) => store.ingest(tenant, { post: [], patch: runs.map(operation) });
  const waiting = async (): Promise<unknown> =>
    (await client.query('SELECT count(*)::int AS n FROM run_patches_waiting WHERE tenant_id = $1', [tenant]))
      .rows[0]?.['n'];
  const find = async (id: string) => {
    const run = await store.runs.get(tenant, id);
    return { ...run?.row, outputs: run?.payloads.outputs?.toString() };
  };

  it('stores creates while an update of an unknown run is being written', async () => {
    // the update waits in its transaction, behind a lock of the table of waiting updates
    const holder = new pg.Client({ connectionString: uri });
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE run_patches_waiting IN SHARE MODE');
    const [early, other] = [randomUUID(), randomUUID()];
    const updating = updates({ id: early, outputs: { late: true } });
    await waitFor(async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY run_patches_waiting%' AND wait_event_type = 'Lock'`,
      );
      return rows[0];
    });
    await creates(post(other));
    expect(await find(other)).toMatchObject({ name: 'n' });
    await holder.query('COMMIT');
    await holder.end();
    await updating;
    await creates(post(early));
    expect(await find(early)).toMatchObject({ outputs: '{"late":true}' });
  });

  it('loses no update, and merges each once, when runs and updates cross', async () => {
    const others = [store, openTraceStore({ uri, log, clock: systemClock })];
    for (let round = 0; round < 4; round++) {
      const ids = Array.from({ length: 40 }, () => randomUUID());
      await Promise.all(
        ids.flatMap((id, at) => [
          others[at % 2]?.ingest(tenant, { post: [], patch: [operation({ id, outputs: { of: id } })] }),
          others[(at + 1) % 2]?.ingest(tenant, { post: [operation(post(id))], patch: [] }),
        ]),
      );
      for (const id of ids) expect(await find(id)).toMatchObject({ outputs: `{"of":"${id}"}` });
    }
    expect(await waiting()).toBe(0);
    await others[1]?.close();
  });

  it('merges an update that waits before one that comes later, and in a tidying when its sender died', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    await creates(post(one), post(two));
    // as a process leaves it that ends between its commit and its look
    for (const [at, id] of [one, two].entries())
      await client.query('INSERT INTO run_patches_waiting (tenant_id, run_id, run) VALUES ($1, $2, $3)', [
        tenant,
        id,
        JSON.stringify({ id, tags: ['first'], outputs: { at } }),
      ]);
    await updates({ id: one, outputs: { at: 'later' } });
    expect(await find(one)).toMatchObject({ tags: ['first'], outputs: '{"at":"later"}' });
    await store.tidy();
    expect(await find(two)).toMatchObject({ tags: ['first'], outputs: '{"at":1}' });
    expect(await waiting()).toBe(0);
  });

  it('takes thousands of updates of unknown runs, and their creates, in few statements', async () => {
    const ids = Array.from({ length: 5_000 }, () => randomUUID());
    await updates(...ids.map((id) => ({ id, end_time: START })));
    expect(await waiting()).toBe(5_000);
    await creates(...ids.map((id) => post(id)));
    expect(await waiting()).toBe(0);
    const { rows } = await client.query(
      `SELECT count(*)::int AS n FROM runs WHERE tenant_id = $1 AND status = 'success'`,
      [tenant],
    );
    expect(rows).toEqual([{ n: 5_000 }]);
  });

  it('reads each waiting update once when its id is created in hundreds of traces', async () => {
    const id = randomUUID();
    const traces = Array.from({ length: 200 }, () => randomUUID());
    const elsewhere = randomUUID();
    await updates(...traces.map(() => ({ id, trace_id: elsewhere, end_time: START })));
    await updates({ id, trace_id: traces[7], outputs: 'mine' }, { id, tags: ['untraced'] });
    const count = await waiting();
    const parse = jest.spyOn(JSON, 'parse');
    const result = await creates(...traces.map((trace_id) => post(id, { trace_id })));
    const parsed = parse.mock.calls.length;
    parse.mockRestore();
    expect(result).toMatchObject({ accepted: 200, refused: [] });
    expect(parsed).toBeLessThan(200 * 20);
    expect([count, await waiting()]).toEqual([202, 200]);
    const { rows } = await client.query(
      `SELECT trace_id, outputs FROM run_payloads WHERE tenant_id = $1 AND outputs IS NOT NULL`,
      [tenant],
    );
    expect(rows).toEqual([{ trace_id: traces[7], outputs: '"mine"' }]);
  });

  it('stores runs together that share an id with updates of another trace', async () => {
    const [id, trace] = [randomUUID(), randomUUID()];
    await updates({ id, trace_id: trace, outputs: 'x'.repeat(3_000) });
    const fresh = [trace, ...Array.from({ length: 50 }, () => randomUUID())].map((traceId) => ({
      place: { id, traceId },
    }));
    const arriving = fresh.map(({ place }) => ({ ...place, threadId: undefined }));
    const { waiting } = await lookUpArriving(client, tenant, arriving);
    const portions = portionsByWaiting(fresh, waiting, { maxBytes: 4_000, ownShare: () => 0 });
    expect(portions.map(({ runs }) => runs.length)).toEqual([51]);
  });

  it('makes many runs, and runs with long ways to their roots, in several portions', async () => {
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const copied = (): number => {
      const copies = query.mock.calls.filter(([given]) =>
        (given as { readonly text?: string }).text?.includes('COPY runs '),
      );
      query.mockClear();
      return copies.length;
    };
    try {
      await creates(...Array.from({ length: 100 }, () => post(randomUUID())));
      expect(copied()).toBe(1);
      await creates(...Array.from({ length: 1_100 }, () => post(randomUUID())));
      expect(copied()).toBe(3);
      const segment = (of: string) => `20261120T100000000000Z${of}`;
      const above = Array.from({ length: 999 }, () => randomUUID());
      const deep = Array.from({ length: 40 }, () => randomUUID());
      const order = (id: string) => [...above, id].map(segment).join('.');
      await creates(...deep.map((id) => post(id, { dotted_order: order(id), trace_id: above[0] })));
      // 59,000 characters each, of a MiB
      expect(copied()).toBe(3);
      const { rows } = await client.query<{ ids: string[] }>(
        'SELECT parent_run_ids::text[] AS ids FROM runs WHERE tenant_id = $1 AND id = ANY ($2::uuid[])',
        [tenant, deep],
      );
      expect(rows).toHaveLength(40);
      for (const { ids } of rows) expect(ids).toEqual(above);
    } finally {
      query.mockRestore();
    }
  });

  it('sends the pairs of many runs in several statements', async () => {
    const query = jest.spyOn(pg.Client.prototype, 'query');
    const values = Array.from({ length: 100 }, (_one, n) => `${n}${'v'.repeat(200)}`);
    await creates(
      ...Array.from({ length: 200 }, () => post(randomUUID(), { extra: { metadata: { a: values } } })),
    );
    const copies = query.mock.calls.flatMap(([given]) => {
      const { text } = given as { readonly text?: string };
      return text?.includes('COPY run_pairs') ? [text] : [];
    });
    query.mockRestore();
    expect(copies.length).toBeGreaterThan(3);
    const { rows } = await client.query('SELECT count(*)::int AS n FROM run_pairs WHERE tenant_id = $1', [
      tenant,
    ]);
    expect(rows).toEqual([{ n: 20_000 }]);
  });

  it('makes the projects of a batch in one statement', async () => {
    const names = Array.from({ length: 1_000 }, (_one, n) => `project ${n}`);
    const before = await client.query<{ n: number }>('SELECT pg_current_xact_id()::text::int AS n');
    await creates(...names.map((session_name) => post(randomUUID(), { session_name })));
    const after = await client.query<{ n: number }>('SELECT pg_current_xact_id()::text::int AS n');
    expect(
      await store.projects.findAll(
        tenant,
        names.map((name) => ({ kind: 'name', name })),
      ),
    ).toHaveLength(1_000);
    expect((after.rows[0]?.n ?? 0) - (before.rows[0]?.n ?? 0)).toBeLessThan(50);
  });

  it('files a run where its create says, though an update with a start time came first', async () => {
    const id = randomUUID();
    await updates({ id, trace_id: id, start_time: START, end_time: START, outputs: { o: 1 } });
    await creates(post(id, { session_name: 'mine' }));
    const mine = await store.projects.find(tenant, { name: 'mine' });
    expect(await find(id)).toMatchObject({ projectId: mine?.id, status: 'success', outputs: '{"o":1}' });
  });

  it('refuses a create whose run is stored in another project, and stores the rest', async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    await creates(post(id, { tags: ['a'] }));
    const result = await creates(post(id, { session_name: 'second', outputs: { o: 2 } }), post(other));
    const { id: first } = (await store.projects.find(tenant, { name: 'p' })) ?? {};
    expect(result).toMatchObject({
      accepted: 1,
      erased: 0,
      refused: [
        {
          loc: [id, 'session_name'],
          type: 'other_project',
          msg: expect.stringContaining(`another project (${first})`),
        },
      ],
    });
    expect(await find(id)).toMatchObject({ projectId: first, outputs: undefined });
    expect(await find(other)).toMatchObject({ name: 'n' });
  });

  it('keeps the hierarchy of a batch that names parents only, whatever its order', async () => {
    const [root, child, grandchild] = [randomUUID(), randomUUID(), randomUUID()];
    const below = (id: string, parent_run_id: string, start_time: string): Shape =>
      post(id, { trace_id: undefined, parent_run_id, start_time });
    await creates(
      below(grandchild, child, '2026-11-20T12:00:02Z'),
      below(child, root, '2026-11-20T12:00:01Z'),
      post(root, { trace_id: undefined }),
    );
    const order = `20261120T120000000000Z${root}.20261120T120001000000Z${child}.20261120T120002000000Z${grandchild}`;
    expect(await find(grandchild)).toMatchObject({
      traceId: root,
      parentRunIds: [root, child],
      dottedOrder: order,
      isRoot: false,
    });
    expect(await find(child)).toMatchObject({ traceId: root, parentRunIds: [root] });
  });

  it('refuses runs too far below in a batch that names parents only', async () => {
    const ids = Array.from({ length: 300 }, () => randomUUID());
    const [root] = ids;
    const result = await creates(
      ...ids.map((id, at) => post(id, { trace_id: root, ...(at > 0 ? { parent_run_id: ids[at - 1] } : {}) })),
    );
    expect(result.accepted).toBe(102);
    expect(result.refused[0]).toMatchObject({ loc: [ids[102], 'dotted_order'], type: 'missing' });
  });

  it('names updates whose runs never came as problems of their project', async () => {
    const [named, unnamed] = [randomUUID(), randomUUID()];
    const project = await store.projects.ensure(tenant, 'p');
    await updates({ id: named, session_name: 'p', end_time: START }, { id: unnamed, end_time: START });
    await client.query(
      `UPDATE run_patches_waiting SET received_at = now() - interval '25 hours' WHERE tenant_id = $1`,
      [tenant],
    );
    await store.tidy();
    expect(await waiting()).toBe(0);
    const { rows } = await client.query(
      `SELECT p.project_id, p.run_id, c.count::int, p.type FROM ingest_problems p
      JOIN ingest_problem_counts c USING (tenant_id, project_id, kind, type) WHERE tenant_id = $1 AND kind = 'dropped'`,
      [tenant],
    );
    const type = 'run_never_arrived';
    expect(rows).toEqual(
      expect.arrayContaining([
        { project_id: project.id, run_id: named, count: 1, type },
        { project_id: '00000000-0000-0000-0000-000000000000', run_id: unnamed, count: 1, type },
      ]),
    );
  });

  it('names a run without a trace whose parent came later, in another trace', async () => {
    const [root, child, grandchild, below] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const project = await store.projects.ensure(tenant, 'p');
    const run = (id: string, more: object) => ({
      run: Buffer.from(
        JSON.stringify({ id, name: 'n', run_type: 'chain', session_name: 'p', start_time: START, ...more }),
      ),
    });
    for (const one of [
      run(grandchild, { parent_run_id: child }),
      run(below, { parent_run_id: grandchild }),
      run(root, {}),
      run(child, { parent_run_id: root }),
    ])
      await store.ingest(tenant, { post: [one], patch: [] });
    for (let times = 0; times < 2; times++) await store.tidy();
    const { rows } = await client.query(
      `SELECT p.run_id, p.member, p.message, c.count::int FROM ingest_problems p
      JOIN ingest_problem_counts c USING (tenant_id, project_id, kind, type)
      WHERE tenant_id = $1 AND project_id = $2 AND type = 'parent_in_another_trace'`,
      [tenant, project.id],
    );
    expect(rows).toEqual([
      {
        run_id: grandchild,
        member: 'trace_id',
        message: expect.stringContaining(`in the trace ${root}`),
        count: 1,
      },
    ]);
    const { row } = (await store.runs.get(tenant, below)) ?? {};
    expect([row?.traceId, row?.parentRunIds]).toEqual([child, [grandchild]]);
    const left = await client.query('SELECT FROM unplaced_runs WHERE tenant_id = $1', [tenant]);
    expect(left.rowCount).toBe(0);
  });

  it('takes the project of an overdue update from its own members alone', async () => {
    const [nul, nested] = [randomUUID(), randomUUID()];
    const { id: other } = await store.projects.ensure(tenant, 'other');
    const { id: own } = await store.projects.ensure(tenant, 'own\uFFFD');
    await updates(
      { id: nul, inputs: { session_name: 'a\0b' }, session_name: 'own\0' },
      { id: nested, inputs: { session_name: 'other' } },
    );
    await client.query(
      `UPDATE run_patches_waiting SET received_at = now() - interval '25 hours' WHERE tenant_id = $1`,
      [tenant],
    );
    await store.tidy();
    const { rows } = await client.query<{ run_id: string; project_id: string }>(
      `SELECT run_id, project_id FROM ingest_problems WHERE tenant_id = $1 AND kind = 'dropped'`,
      [tenant],
    );
    const found = new Map(rows.map((row) => [row.run_id, row.project_id]));
    expect(found.get(nul)).toBe(own);
    expect(found.get(nested)).not.toBe(other);
    expect(found.size).toBe(2);
  });

  it('notes the other dropped updates when noting those of one project fails', async () => {
    const [bad, good] = [randomUUID(), randomUUID()];
    await updates({ id: bad, session_name: 'bad' }, { id: good, session_name: 'good' });
    await client.query(
      `UPDATE run_patches_waiting SET received_at = now() - interval '25 hours' WHERE tenant_id = $1`,
      [tenant],
    );
    const noted: string[] = [];
    const projects = {
      find: async (_tenant: string, by: { readonly id: string } | { readonly name: string }) => {
        const name = 'name' in by ? by.name : by.id;
        if (name === 'bad') throw new Error('looking up a project failed');
        noted.push(name);
        return undefined;
      },
    };
    const pool = new pg.Pool({ connectionString: uri });
    await dropAndNoteOverdue(pool, projects, createLogger('test', 'silent'));
    await pool.end();
    expect(noted).toEqual(['good']);
  });
});
