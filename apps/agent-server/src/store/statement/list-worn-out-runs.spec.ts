import { runAtWork, serverOf, storeFixture } from '../../../testdata/store-fixture.js';
import { WORKER } from '../worker-scope.js';
import { listWornOutRuns, takeOverRuns } from './claim-runs.js';

const store = storeFixture();

describe('a run that lost its server too often', () => {
  it('appears in the list of a server without its graph and in no takeover', async () => {
    const { runId } = await runAtWork(store.sql);
    await store.pool.query(
      `UPDATE agentplane.runs SET takeovers = 3, lease_until = clock_timestamp() - interval '1 second' WHERE run_id = $1`,
      [runId],
    );
    const stranger = serverOf('two', ['another graph']);
    expect((await listWornOutRuns(WORKER, store.sql, stranger)).map((run) => run.runId)).toEqual([runId]);
    expect(await takeOverRuns(WORKER, store.sql, serverOf('two'), 10)).toEqual([]);
  });
});
