import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from '../thread/change-thread.js';
import { WORKER } from '../worker-scope.js';
import { claimLimitedRuns, findObstacle } from './claim-runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();

async function submit(assistantId: string, caller?: string): Promise<string> {
  const threadId = newId();
  await createThread(WORKER, store.sql, threadId, {}, 'raise');
  const fields = caller === undefined ? {} : { langgraph_auth_user_id: caller };
  const kwargs = { stream_mode: ['values'], subgraphs: false, input: '\u0000', caller: fields } as const;
  const run = storedRun({ threadId, assistantId, kwargs });
  await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
  return run.runId;
}

/** Runs that several servers get when they ask at once, four runs at most each. */
async function claim(perAssistant: number, perCaller: number): Promise<string[]> {
  const servers = [serverOf('one'), serverOf('two'), serverOf('one')];
  const claims = servers.map((server) =>
    claimLimitedRuns(WORKER, store.sql, server, 4, { perAssistant, perCaller }),
  );
  return (await Promise.all(claims)).flat().map((run) => run.runId);
}

describe('the limits of runs at work', () => {
  beforeEach(() => store.pool.query('DELETE FROM agentplane.runs'));

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
