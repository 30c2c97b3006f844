import { queueing, runAtWork, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { Sql } from '../sql.js';
import { submitRun } from './submit-run.js';
import { WORKER } from '../worker-scope.js';
import { removeThread } from './change-thread.js';

const store = storeFixture();

describe('the removal of a thread', () => {
  it('removes a run that was made while it waited for the thread', async () => {
    const { threadId } = await runAtWork(store.sql);
    const submitter = await store.pool.connect();
    await submitter.query('BEGIN');
    await submitRun(
      WORKER,
      new Sql(store.pool, { connection: submitter }),
      serverOf('one'),
      storedRun({ threadId }),
      queueing(),
    );
    const removed = removeThread(WORKER, store.sql, threadId);
    await store.pool.query('SELECT 1');
    await submitter.query('COMMIT');
    submitter.release();
    await removed;
    const { rows } = await store.pool.query('SELECT 1 FROM agentplane.runs WHERE thread_id = $1', [threadId]);
    expect(rows).toEqual([]);
  });
});
