import { systemClock } from '#lib/time';
import { waitFor } from '#lib/testing';
import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { TemporaryRuns } from '../../run/thread-runs.js';
import { createThread } from './change-thread.js';
import { WORKER } from '../worker-scope.js';
import { claimRuns, handBackRuns, readInput, renewLeases, retryRun, takeOverRuns } from './claim-runs.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import type { StoredRun } from '../row/run-row.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();

describe('the queue', () => {
  it('lets a run wait its turn when a delayed one of its thread begins in the same moment', async () => {
    const server = serverOf('one');
    const threadId = newId();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    const delayed = storedRun({ threadId });
    await submitRun(WORKER, store.sql, server, delayed, queueing({ delayMs: 1_000_000 }));
    const other = await store.pool.connect();
    await other.query('BEGIN');
    await other.query(`UPDATE agentplane.runs SET status = 'running' WHERE run_id = $1`, [delayed.runId]);
    const next = storedRun({ threadId });
    const submitted = submitRun(WORKER, store.sql, server, next, queueing({ startsHere: true }));
    await waitFor(
      async () =>
        (
          await store.pool.query(
            `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%submit_run%'`,
          )
        ).rowCount === 1,
    );
    await other.query('COMMIT');
    other.release();
    expect(await submitted).toMatchObject({ status: 'pending' });
  });

  it('gives a run what its attempts left of its time, however long it waited and the clock was set', async () => {
    const server = serverOf('one');
    const run = storedRun({ threadId: newId() });
    await createThread(WORKER, store.sql, run.threadId, {}, 'raise');
    await submitRun(WORKER, store.sql, server, run, queueing());
    const claim = async (ranMs: number): Promise<ClaimedRun> => {
      const [claimed] = await claimRuns(WORKER, store.sql, server, 1);
      expect(claimed).toMatchObject({ runId: run.runId, ranMs });
      if (!claimed) throw new Error('nothing was claimed');
      return claimed;
    };
    const first = await claim(0);
    await handBackRuns(WORKER, store.sql, [{ ...first, workedMs: 1_500, isRead: false }]);
    const waitSince = (moment: string) =>
      store.pool.query(
        `UPDATE agentplane.runs SET started_at = clock_timestamp() ${moment} WHERE run_id = $1`,
        [run.runId],
      );
    await waitSince("- interval '1 hour'");
    const second = await claim(1_500);
    await renewLeases(WORKER, store.sql, server, [{ ...second, workedMs: 2_500 }]);
    const lost = { ...server, leaseMs: 0 };
    await renewLeases(WORKER, store.sql, lost, [{ ...second, workedMs: 3_500 }]);
    await waitSince("+ interval '1 hour'");
    expect(await takeOverRuns(WORKER, store.sql, server, 1)).toMatchObject([{ attempt: 3, ranMs: 3_500 }]);
    const third = { ...second, attempt: 3, workedMs: 4_500 };
    expect(await retryRun(WORKER, store.sql, server, third, false)).toMatchObject({
      attempt: 4,
      ranMs: 4_500,
    });
    await store.pool.query('DELETE FROM agentplane.runs WHERE run_id = $1', [run.runId]);
  });

  it('renews the leases of other runs while the row of one is locked for long, and keeps that one', async () => {
    const server = serverOf('one');
    const temporary = new TemporaryRuns(store.sql, server, systemClock);
    for (let at = 0; at < 3; at++)
      await temporary.submit({ scope: WORKER, run: storedRun({ isTemporary: true }), queueing: queueing() });
    const claimed = await claimRuns(WORKER, store.sql, server, 3);
    const ids = claimed.map(({ runId }) => runId);
    const locked = ids.toSorted()[0];
    // as the end of a run does that is rolled back, until all that it wrote is deleted
    const other = await store.pool.connect();
    await other.query('BEGIN');
    await other.query('UPDATE agentplane.runs SET error = NULL WHERE run_id = $1', [locked]);
    const worked = claimed.map((run) => ({ ...run, workedMs: 0 }));
    const renewed = await renewLeases(WORKER, store.sql, server, worked);
    expect(new Map(renewed.map(({ runId, isRenewed }) => [runId, isRenewed]))).toEqual(
      new Map(ids.map((runId) => [runId, runId !== locked])),
    );
    await other.query('ROLLBACK');
    other.release();
    const again = await renewLeases(WORKER, store.sql, server, worked);
    expect(again.map(({ isRenewed }) => isRenewed)).toEqual([true, true, true]);
    await store.pool.query('DELETE FROM agentplane.runs WHERE run_id = ANY ($1)', [ids]);
  });

  it('claims runs without their large inputs, and answers those as text', async () => {
    const server = serverOf('one');
    const kwargsOf = (input: unknown) => ({
      ...storedRun().kwargs,
      input,
      resumable: true,
      webhook: 'http://a/',
    });
    const small = storedRun({ isTemporary: true, metadata: { a: 1 }, kwargs: kwargsOf('\u0000') });
    const large = storedRun({ isTemporary: true, kwargs: kwargsOf('x'.repeat(100_000)) });
    const temporary = new TemporaryRuns(store.sql, server, systemClock);
    for (const run of [small, large]) await temporary.submit({ scope: WORKER, run, queueing: queueing() });
    // as a server of an earlier version writes it
    await store.pool.query('UPDATE agentplane.runs SET outline = NULL WHERE run_id = $1', [large.runId]);
    const claimed = await claimRuns(WORKER, store.sql, server, 2);
    const marks = { webhook: 'http://a/', isResumable: true, isStreamed: true };
    expect(claimed).toMatchObject([
      { runId: small.runId, ...marks },
      { runId: large.runId, ...marks },
    ]);
    const [first, second] = claimed as [ClaimedRun, ClaimedRun];
    const given = ({ metadata, kwargs }: StoredRun) => ({ metadata, kwargs });
    expect(JSON.parse(first.input.take() ?? '')).toEqual(given(small));
    expect([first.input.take(), second.input.take()]).toEqual([undefined, undefined]);
    expect(JSON.parse((await readInput(WORKER, store.sql, second)) ?? '')).toEqual(given(large));
    expect(await readInput(WORKER, store.sql, { ...second, attempt: 2 })).toBeUndefined();
    await store.pool.query('DELETE FROM agentplane.runs WHERE temporary');
  });

  it('refuses a run more on a thread on which ten thousand wait', async () => {
    const { threadId, assistantId } = storedRun();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    await store.pool.query(
      `INSERT INTO agentplane.runs
        (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata, kwargs)
       SELECT gen_random_uuid(), $1, false, $2, 'graph', 'pending', 'enqueue', '{}', '{}' FROM generate_series(1, 10000)`,
      [threadId, assistantId],
    );
    const submit = (strategy: 'enqueue' | 'reject') =>
      submitRun(WORKER, store.sql, serverOf('one'), storedRun({ threadId }), queueing({ strategy }));
    await expect(submit('enqueue')).rejects.toMatchObject({ code: 'too_many' });
    await expect(submit('reject')).rejects.toMatchObject({ code: 'conflict' });
    await store.pool.query('DELETE FROM agentplane.runs WHERE thread_id = $1', [threadId]);
    expect(await submit('enqueue')).toMatchObject({ status: 'pending' });
    await store.pool.query('DELETE FROM agentplane.runs WHERE thread_id = $1', [threadId]);
  });

  it('gives each run to one of many servers that ask at once, and one run of a thread at a time', async () => {
    const server = serverOf('one');
    const threadId = newId();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    for (let n = 0; n < 5; n++)
      await submitRun(WORKER, store.sql, server, storedRun({ threadId }), queueing());
    const temporary = new TemporaryRuns(store.sql, server, systemClock);
    await Promise.all(
      Array.from({ length: 20 }, () =>
        temporary.submit({ scope: WORKER, run: storedRun({ isTemporary: true }), queueing: queueing() }),
      ),
    );
    expect(await claimRuns(WORKER, store.sql, serverOf('two', ['another graph']), 50)).toEqual([]);
    const claims = Array.from({ length: 4 }, () => claimRuns(WORKER, store.sql, serverOf('two'), 50));
    const claimed = (await Promise.all(claims)).flat();
    expect(new Set(claimed.map((run) => run.runId)).size).toBe(claimed.length);
    expect(claimed.filter((run) => run.isTemporary)).toHaveLength(20);
    expect(claimed.filter((run) => run.threadId === threadId)).toHaveLength(1);
  });
});
