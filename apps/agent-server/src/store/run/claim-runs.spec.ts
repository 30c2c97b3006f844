import { systemClock } from '#lib/time';
import { waitFor } from '#lib/testing';
import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { TemporaryRuns } from '../../run/temporary-runs.js';
import { createThread } from '../thread/create-thread.js';
import { WORKER } from '../worker-scope.js';
import { claimRuns } from './claim-runs.js';
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

  it('gives a run no more than its time when the clock of the database was set back', async () => {
    const server = serverOf('one');
    const run = storedRun({ threadId: newId() });
    await createThread(WORKER, store.sql, run.threadId, {}, 'raise');
    await submitRun(WORKER, store.sql, server, run, queueing());
    await store.pool.query(
      `UPDATE agentplane.runs SET started_at = clock_timestamp() + interval '1 hour' WHERE run_id = $1`,
      [run.runId],
    );
    expect(await claimRuns(WORKER, store.sql, server, 1)).toMatchObject([{ runId: run.runId, ranMs: 0 }]);
    await store.pool.query('DELETE FROM agentplane.runs WHERE run_id = $1', [run.runId]);
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
