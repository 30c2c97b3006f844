import type { RunPriority } from '../row/run-row.js';
import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from './change-thread.js';
import { WORKER } from '../worker-scope.js';
import { claimRuns, findObstacle } from './claim-runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();

async function submit(assistantId: string, caller?: string, priority?: RunPriority): Promise<string> {
  const threadId = newId();
  await createThread(WORKER, store.sql, threadId, {}, 'raise');
  const fields = caller === undefined ? {} : { langgraph_auth_user_id: caller };
  const kwargs = { stream_mode: ['values'], subgraphs: false, input: '\u0000', caller: fields } as const;
  const run = storedRun({ threadId, assistantId, kwargs, ...(priority && { priority }) });
  await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
  return run.runId;
}

/** Runs that several servers get when they ask at once, four runs at most each. */
async function claim(perAssistant: number, perCaller: number): Promise<string[]> {
  const servers = [serverOf('one'), serverOf('two'), serverOf('one')];
  const claims = servers.map((server) =>
    claimRuns(WORKER, store.sql, server, 4, { perAssistant, perCaller }),
  );
  return (await Promise.all(claims)).flat().map((run) => run.runId);
}

describe('the turns of callers', () => {
  beforeEach(() => store.pool.query('TRUNCATE agentplane.runs'));

  const claimOnly = async (limit: number, of: 'one' | 'two' = 'one'): Promise<string[]> =>
    (await claimRuns(WORKER, store.sql, serverOf(of), limit)).map(({ runId }) => runId);
  const end = (...runs: (string | undefined)[]) =>
    store.pool.query(`UPDATE agentplane.runs SET status = 'success' WHERE run_id = ANY ($1)`, [runs]);

  it('gives the next place to a caller with fewer runs at work, however many another one queued before', async () => {
    const assistant = newId();
    const alices = [];
    for (let n = 0; n < 6; n++) alices.push(await submit(assistant, 'alice'));
    expect(await claimOnly(3)).toEqual(alices.slice(0, 3));
    const bobs = [await submit(assistant, 'bob'), await submit(assistant, 'bob')];
    const nobodys = await submit(assistant);
    await end(alices[0]);
    expect(await claimOnly(1, 'two')).toEqual([bobs[0]]);
    await end(alices[1]);
    expect(await claimOnly(1)).toEqual([nobodys]);
    expect(await claimOnly(2)).toEqual([alices[3], bobs[1]]);
    expect(await claimOnly(5)).toEqual(alices.slice(4));
  });

  it('passes over callers of whom no run can begin', async () => {
    const assistant = newId();
    const alices = await submit(assistant, 'alice');
    const bobs = [
      await submit(assistant, 'bob'),
      await submit(assistant, 'bob'),
      await submit(assistant, 'bob'),
    ];
    await store.pool.query(
      `UPDATE agentplane.runs SET start_after = clock_timestamp() + interval '1 hour' WHERE run_id = $1`,
      [alices],
    );
    expect(await claimOnly(2)).toEqual(bobs.slice(0, 2));
    expect(await claimOnly(2)).toEqual(bobs.slice(2));
  });

  it('gives every caller a turn when more wait than a claim looks at', async () => {
    await store.pool.query(
      `INSERT INTO agentplane.runs
        (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs, outline)
      SELECT gen_random_uuid(), gen_random_uuid(), true, $1, 'graph', 'pending', 'enqueue', '{}', '{}',
        jsonb_build_object('caller', 'caller ' || n % 150) FROM generate_series(1, 600) n`,
      [newId()],
    );
    for (let n = 0; n < 60; n++) expect(await claimOnly(10)).toHaveLength(10);
    expect(await claimOnly(1)).toEqual([]);
  });

  it('reads few rows however many runs of one caller wait before those of another', async () => {
    const assistant = newId();
    await store.pool.query('ANALYZE agentplane.runs');
    await store.pool.query(
      `INSERT INTO agentplane.runs
        (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs, outline)
      SELECT gen_random_uuid(), gen_random_uuid(), true, $1, 'graph', 'pending', 'enqueue', '{}', '{}', '{"caller": "alice"}'
        FROM generate_series(1, 20000)`,
      [assistant],
    );
    const bobs = [await submit(assistant, 'bob'), await submit(assistant, 'bob')];
    const connection = await store.pool.connect();
    await connection.query('BEGIN');
    const { rows: claimed } = await connection.query<{ run_id: string }>(
      `SELECT run_id FROM agentplane.claim_limited_runs(4, $1, 60000, '{graph}', 0, 0)`,
      [newId()],
    );
    const { rows } = await connection.query<{ looked_at: number }>(
      `SELECT (seq_tup_read + idx_tup_fetch)::int AS looked_at FROM pg_stat_xact_user_tables WHERE relname = 'runs'`,
    );
    await connection.query('COMMIT');
    connection.release();
    expect(claimed.map((run) => run.run_id)).toEqual(expect.arrayContaining(bobs));
    expect(rows[0]?.looked_at).toBeLessThan(100);
  });
});

describe('the priorities of runs', () => {
  beforeEach(() =>
    store.pool.query(`TRUNCATE agentplane.runs; SELECT setval('agentplane.ranked_claims', 1, false)`),
  );

  const claimOne = async (): Promise<string | undefined> =>
    (await claimRuns(WORKER, store.sql, serverOf('one'), 1))[0]?.runId;

  it('begins the most urgent runs first, and the oldest of them by the turns of their callers', async () => {
    const assistant = newId();
    const late = await submit(assistant, 'alice', { priority: 5 });
    const usual = [await submit(assistant, 'alice'), await submit(assistant, 'alice', { priority: 0 })];
    const urgent = [];
    for (const caller of ['bob', 'bob', 'carol'])
      urgent.push(await submit(assistant, caller, { priority: -5 }));
    const begun = [];
    for (let n = 0; n < 6; n++) begun.push(await claimOne());
    expect(begun).toEqual([urgent[0], urgent[2], urgent[1], ...usual, late]);
  });

  it('takes many places at once in the same order', async () => {
    const assistant = newId();
    const late = [
      await submit(assistant, 'alice', { priority: 1 }),
      await submit(assistant, 'bob', { priority: 1 }),
    ];
    const urgent = [];
    for (let n = 0; n < 4; n++) urgent.push(await submit(assistant, 'alice', { priority: -1 }));
    const begun = await claimRuns(WORKER, store.sql, serverOf('one'), 5);
    expect(begun.map(({ runId }) => runId).sort()).toEqual([...urgent, late[0]].sort());
  });

  it('goes on with the least urgent runs at every tenth claim', async () => {
    const assistant = newId();
    const late = await submit(assistant, 'alice', { priority: 5 });
    for (let n = 0; n < 12; n++) await submit(assistant, 'bob', { priority: -5 });
    const begun = [];
    for (let n = 0; n < 12; n++) begun.push(await claimOne());
    expect(begun.indexOf(late)).toBe(9);
  });

  it('gives turns to fairness groups in place of callers', async () => {
    const assistant = newId();
    const first = [];
    for (const caller of ['alice', 'bob', 'carol'])
      first.push(await submit(assistant, caller, { priority: 0, fairness_group: 'one' }));
    const other = await submit(assistant, 'dave', { priority: 0, fairness_group: 'two' });
    expect([await claimOne(), await claimOne(), await claimOne()]).toEqual([first[0], other, first[1]]);
  });

  it('counts the runs of a caller in all of them', async () => {
    const assistant = newId();
    const runs = [
      await submit(assistant, 'alice', { priority: -1 }),
      await submit(assistant, 'alice', { priority: 0, fairness_group: 'one' }),
      await submit(assistant, 'bob', { priority: 0, fairness_group: 'one' }),
    ];
    expect((await claim(0, 1)).sort()).toEqual([runs[0], runs[2]].sort());
  });
});

describe('the limits of runs at work', () => {
  beforeEach(() => store.pool.query('TRUNCATE agentplane.runs'));

  it('holds back runs of a busy assistant and lets those of others pass', async () => {
    const [busy, other] = [newId(), newId()];
    const mine = [];
    for (let n = 0; n < 5; n++) mine.push(await submit(busy));
    const theirs = await submit(other);
    expect((await claim(2, 0)).sort()).toEqual([...mine.slice(0, 2), theirs].sort());
    expect(await claim(2, 0)).toEqual([]);
    const limits = { perAssistant: 2, perCaller: 0 };
    expect(await findObstacle(WORKER, store.sql, mine[2] ?? '', limits)).toBe('assistant_limit');
    expect(await findObstacle(WORKER, store.sql, mine[0] ?? '', limits)).toBeUndefined();
    await store.pool.query(`UPDATE agentplane.runs SET status = 'success' WHERE run_id = $1`, [mine[0]]);
    expect(await claim(2, 0)).toEqual([mine[2]]);
  });

  it('holds back runs of a busy caller and lets those of others, and without a caller, pass', async () => {
    const assistant = newId();
    const alices = [await submit(assistant, 'alice'), await submit(assistant, 'alice')];
    const bobs = await submit(assistant, 'bob');
    const nobodys = [await submit(assistant), await submit(assistant)];
    expect((await claim(0, 1)).sort()).toEqual([alices[0], bobs, ...nobodys].sort());
    const limits = { perAssistant: 0, perCaller: 1 };
    expect(await findObstacle(WORKER, store.sql, alices[1] ?? '', limits)).toBe('caller_limit');
    expect(await claim(0, 0)).toEqual([alices[1]]);
  });

  it('counts runs of servers of an earlier version, and looks into the input of no other', async () => {
    const assistant = newId();
    const runs = [await submit(assistant, 'alice'), await submit(assistant, 'alice')];
    await store.pool.query('UPDATE agentplane.runs SET outline = NULL WHERE run_id = $1', [runs[0]]);
    await store.pool
      .query(`UPDATE agentplane.runs SET kwargs = '{"caller": {"langgraph_auth_user_id": "bob"}}'
      WHERE run_id = '${runs[1]}'`);
    expect(await claim(0, 1)).toEqual([runs[0]]);
    expect(await findObstacle(WORKER, store.sql, runs[1] ?? '', { perAssistant: 0, perCaller: 1 })).toBe(
      'caller_limit',
    );
  });

  it('looks up the thread of each run that waits, however many waited on one when they were counted last', async () => {
    const assistant = newId();
    const insert = (thread: string, status: string, count: number) =>
      store.pool.query(
        `INSERT INTO agentplane.runs
          (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs)
        SELECT gen_random_uuid(), ${thread}, true, $1, 'graph', $2, 'enqueue', '{}', '{}' FROM generate_series(1, $3)`,
        [assistant, status, count],
      );
    await insert('gen_random_uuid()', 'running', 1);
    await insert(`'${newId()}'`, 'pending', 3_000);
    await store.pool.query('ANALYZE agentplane.runs');
    await insert('gen_random_uuid()', 'pending', 300);
    const connection = await store.pool.connect();
    await connection.query('BEGIN');
    const claimed = await connection.query(
      `SELECT 1 FROM agentplane.claim_limited_runs(10, $1, 1000, '{graph}', 1, 0)`,
      [newId()],
    );
    const { rows } = await connection.query<{ looked_at: number }>(
      `SELECT seq_tup_read::int AS looked_at FROM pg_stat_xact_user_tables WHERE relname = 'runs'`,
    );
    await connection.query('ROLLBACK');
    connection.release();
    expect(claimed.rows).toEqual([]);
    expect(rows[0]?.looked_at).toBeLessThan(1_000);
  });
});
