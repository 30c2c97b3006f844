import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import {
  findThreads,
  type PlacedThread,
  type ThreadCursor,
  type ThreadPageOptions,
  type ThreadSearch,
} from './find-threads.js';

describe('a thread', () => {
  const db = testTraceStore();

  it('begins and ends with the payloads of roots whose ids are not those of their traces', async () => {
    const tenant = randomUUID();
    const rootOf = (at: number, more: object) => ({
      id: randomUUID(),
      trace_id: randomUUID(),
      name: 'r',
      run_type: 'chain',
      session_name: 'p',
      start_time: `2026-11-20T10:00:0${at}Z`,
      extra: { metadata: { thread_id: 't' } },
      ...more,
    });
    const roots = [
      rootOf(0, { inputs: { q: 'first' }, outputs: { a: 1 } }),
      rootOf(1, { inputs: { q: 'second' }, outputs: { a: 2 }, error: 'failed at last' }),
    ];
    const post = roots.map((run) => ({ run: Buffer.from(JSON.stringify(run)) }));
    await db.store.ingest(tenant, { post, patch: [] });
    const projectId = (await db.store.projects.find(tenant, { name: 'p' }))?.id ?? '';
    const { threads } = await db.store.threads.list(tenant, { projectId }, { limit: 10 });
    expect(threads).toMatchObject([
      {
        threadId: 't',
        traces: 2,
        failed: 1,
        firstTraceId: roots[0]?.trace_id,
        lastTraceId: roots[1]?.trace_id,
        firstInputs: '{"q":"first"}',
        lastOutputs: '{"a":2}',
        lastError: 'failed at last',
      },
    ]);
  });
});

describe('a page of threads', () => {
  const db = testTraceStore();
  const [tenant, mixed, large] = [randomUUID(), randomUUID(), randomUUID()];
  const SECOND = 1_000_000n;

  /** Threads in the order of their last roots among those that are wanted, as a pass over all of them finds them. */
  const inOrder = async (condition: string): Promise<string[]> => {
    const { rows } = await db.client.query<{ thread_id: string }>(
      `SELECT thread_id FROM (
        SELECT DISTINCT ON (thread_id) thread_id, start_time, id, trace_id FROM runs
        WHERE tenant_id = $1 AND project_id = $2 AND is_root AND thread_id IS NOT NULL AND ${condition}
        ORDER BY thread_id, start_time DESC, id DESC, trace_id DESC
      ) a ORDER BY start_time DESC, id DESC, trace_id DESC`,
      [tenant, mixed],
    );
    return rows.map((row) => row.thread_id);
  };
  const rowsRead = async (): Promise<number> => {
    const { rows } = await db.client.query<{ read: number }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
      WHERE relname LIKE 'runs%'`,
    );
    return rows[0]?.read ?? 0;
  };
  const find = async (search: ThreadSearch, page: ThreadPageOptions, mostRoots?: number) => {
    await db.client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    try {
      const before = await rowsRead();
      const answer = await findThreads(db.client, tenant, search, page, mostRoots);
      return { ...answer, read: (await rowsRead()) - before };
    } finally {
      await db.client.query('ROLLBACK');
    }
  };

  beforeAll(async () => {
    // many begin in the same second, some threads have most of the roots, and one of ten is in no thread
    await db.client.query(
      `INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_ids, is_root, name, run_type, status,
        dotted_order, trace_tier, tags, thread_id)
      SELECT $1::uuid, $2::uuid, '1960-01-01'::timestamptz + (n / 3) * interval '1 second', md5('r' || n)::uuid, md5('r' || n)::uuid, '{}'::uuid[],
        n % 7 > 0, 'n', 'chain', CASE WHEN n % 5 = 0 THEN 'error' ELSE 'success' END, '', '', '{}'::text[],
        CASE WHEN n % 10 > 0 THEN 'Thread ä-' || CASE WHEN n % 2 = 0 THEN n % 4 ELSE (n * 7919) % 311 END END
      FROM generate_series(0, 2999) AS n
      UNION ALL
      SELECT $1::uuid, $3::uuid, '1960-02-01'::timestamptz + n * interval '1 second', md5('l' || n)::uuid, md5('l' || n)::uuid, '{}'::uuid[], true,
        'n', 'chain', 'success', '', '', '{}'::text[], 'thread ' || n / 8
      FROM generate_series(0, 29999) AS n`,
      [tenant, mixed, large],
    );
    await db.client.query('ANALYZE runs');
  });

  it.each([
    ['walked', undefined],
    ['gathered', 1],
  ])('has every thread once in the order of the last roots, %s', async (_how, mostRoots) => {
    const from = -315_619_200n * SECOND + 100n * SECOND;
    const to = from + 700n * SECOND;
    const filter = parseFilter('neq(status, "error")');
    const window = `start_time >= '1960-01-01 00:01:40Z' AND start_time <= '1960-01-01 00:13:20Z'`;
    for (const [search, condition] of [
      [{ projectId: mixed }, 'true'],
      [{ projectId: mixed, from, to }, window],
      [{ projectId: mixed, from, to, filters: { filter } }, `${window} AND status <> 'error'`],
    ] as const) {
      const expected = await inOrder(condition);
      expect(expected.length).toBeGreaterThan(100);
      for (const limit of [37, 400]) {
        const paged: PlacedThread[] = [];
        for (let after: ThreadCursor | undefined; ;) {
          const { found } = await find(search, { limit, after }, mostRoots);
          paged.push(...found.slice(0, limit));
          if (found.length <= limit) break;
          after = paged.at(-1);
        }
        expect(paged.map(({ threadId }) => threadId)).toEqual(expected);
      }
      for (const offset of [1, 20, 21, 22, 23, expected.length - 3, expected.length, 10_000]) {
        const { found } = await find(search, { limit: 5, offset }, mostRoots);
        expect(found.map(({ threadId }) => threadId)).toEqual(expected.slice(offset, offset + 6));
      }
    }
  });

  it('reads the roots of the page, and not all of the project', async () => {
    const first = await find({ projectId: large }, { limit: 50 });
    expect(first.found).toHaveLength(51);
    expect(first.read).toBeLessThan(3_000);
    const after = first.found.at(49);
    const second = await find({ projectId: large }, { limit: 50, after });
    expect(second.found[0]?.threadId).toBe(first.found[50]?.threadId);
    expect(second.read).toBeLessThan(3_000);
  });

  it('reads the roots of the page where all roots of the project began in one microsecond', async () => {
    const own = randomUUID();
    await db.client.query(
      `INSERT INTO runs (tenant_id, project_id, start_time, id, trace_id, parent_run_ids, is_root, name, run_type, status,
        dotted_order, trace_tier, tags, thread_id)
      SELECT $1::uuid, $2::uuid, '1962-01-01'::timestamptz, md5('m' || n)::uuid, md5('m' || n)::uuid, '{}'::uuid[], true,
        'n', 'chain', 'success', '', '', '{}'::text[], 'thread ' || n
      FROM generate_series(1, 6000) AS n`,
      [tenant, own],
    );
    await db.client.query('ANALYZE runs');
    const first = await find({ projectId: own }, { limit: 50 }, 5_000);
    const second = await find({ projectId: own }, { limit: 50, after: first.found[49] }, 5_000);
    expect(second.found[0]).toEqual(first.found[50]);
    for (const { found, read } of [first, second]) {
      expect(found).toHaveLength(51);
      expect(read).toBeLessThan(3_000);
    }
  });

  it('looks up the last roots of the page alone, however many threads stand before it', async () => {
    const first = await find({ projectId: large }, { limit: 50 }, 1);
    const deep = await find({ projectId: large }, { limit: 50, offset: 3_000 }, 2_000);
    expect(deep.found.map(({ threadId }) => threadId)).toEqual(
      Array.from({ length: 51 }, (_, index) => `thread ${749 - index}`),
    );
    expect(deep.read).toBeLessThan(first.read + 500);
  });

  it('counts all threads only where that is asked for', async () => {
    const page = (isCounted: boolean, projectId: string) =>
      db.store.threads.list(tenant, { projectId }, { limit: 3, isCounted });
    expect((await page(true, large)).total).toBe(3_750);
    expect((await page(false, large)).total).toBeUndefined();
    expect((await page(true, mixed)).total).toBe((await inOrder('true')).length);
    const { threads, next } = await page(true, large);
    expect(threads.map(({ threadId, traces }) => [threadId, traces])).toEqual([
      ['thread 3749', 8],
      ['thread 3748', 8],
      ['thread 3747', 8],
    ]);
    const { lastStartTime, lastTraceId: traceId } = threads[2] ?? {};
    expect(next).toEqual({ lastStartTime, traceId, rootId: traceId });
  });

  it('adds up the newest traces of a thread with too many, and says so', async () => {
    const own = randomUUID();
    await db.client.query(
      `INSERT INTO runs (tenant_id, project_id, start_time, end_time, id, trace_id, parent_run_ids, is_root, name, run_type,
        status, dotted_order, trace_tier, tags, thread_id)
      SELECT $1::uuid, $2::uuid, '1961-01-01'::timestamptz + n * interval '1 second',
        '1961-01-01'::timestamptz + n * interval '1 second' + CASE WHEN n < 10 THEN 9 ELSE 1 END * interval '1 second',
        md5('o' || n)::uuid, md5('o' || n)::uuid, '{}'::uuid[], true, 'n', 'chain',
        CASE WHEN n < 10 THEN 'error' ELSE 'success' END, '', '', '{}'::text[], 'long'
      FROM generate_series(0, 1009) AS n`,
      [tenant, own],
    );
    const { threads } = await db.store.threads.list(tenant, { projectId: own }, { limit: 10 });
    const { rows } = await db.client.query<{ first: string }>(`SELECT md5('o0')::uuid AS first`);
    expect(threads).toMatchObject([
      { traces: 1_010, isPartial: true, failed: 0, latencyP99: 1, firstTraceId: rows[0]?.first },
    ]);
    const named = await db.store.threads.list(tenant, { projectId: own, threadId: 'long' }, { limit: 1 });
    expect(named.threads).toMatchObject([{ traces: 1_010, isPartial: false, failed: 10 }]);
  });

  it('adds up the calls of a trace once where two roots of a thread name the trace', async () => {
    const [own, trace] = [randomUUID(), randomUUID()];
    const common = { name: 'r', session_name: 'twice', start_time: '2026-11-20T10:00:00Z', trace_id: trace };
    const extra = { metadata: { thread_id: 't' } };
    const usage = { usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } };
    const runs = [
      { ...common, id: trace, run_type: 'chain', extra },
      { ...common, id: randomUUID(), run_type: 'chain', extra },
      { ...common, id: randomUUID(), parent_run_id: trace, run_type: 'llm', outputs: usage },
    ];
    await db.store.ingest(own, {
      post: runs.map((run) => ({ run: Buffer.from(JSON.stringify(run)) })),
      patch: [],
    });
    const projectId = (await db.store.projects.find(own, { name: 'twice' }))?.id ?? '';
    const { threads } = await db.store.threads.list(own, { projectId }, { limit: 10 });
    expect(threads).toMatchObject([{ traces: 2, totalTokens: 7, promptTokens: 3, completionTokens: 4 }]);
  });
});
