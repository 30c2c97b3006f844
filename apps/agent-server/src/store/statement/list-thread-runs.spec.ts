import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from './change-thread.js';
import { WORKER } from '../worker-scope.js';
import { listThreadRuns } from './runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();
const PROTOCOL = { kind: 'protocol', keptMs: 1e9, fromPlace: 0 } as const;

describe('listThreadRuns', () => {
  it('finds runs by protocol beside inputs that hold NUL', async () => {
    const threadId = newId();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    const inputs = [
      { protocol: 'v2', input: 'a\u0000b' },
      { input: { 'a\u0000': 'v2', protocol: 'v2' } },
      { protocol: 'v2', input: '\ud800' },
    ] as const;
    const runs = inputs.map((given) => storedRun({ threadId, kwargs: { ...storedRun().kwargs, ...given } }));
    for (const run of runs) await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
    const found = await listThreadRuns(WORKER, store.sql, threadId, { from: 0, which: PROTOCOL });
    expect(found.map(({ runId }) => runId)).toEqual([runs[0]?.runId, runs[2]?.runId]);
  });
});
