import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from '../thread/create-thread.js';
import { WORKER } from '../worker-scope.js';
import { listThreadRuns } from './list-thread-runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();
const PROTOCOL = { kind: 'protocol', keptMs: 1e9, fromPlace: 0 } as const;

describe('the runs of a thread', () => {
  it('are found by protocol beside one whose input holds a NUL', async () => {
    const threadId = newId();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    const inputs = [
      { kwargs: { protocol: 'v2', input: 'a\u0000b' } },
      { kwargs: { input: { 'a\u0000': 'v2', protocol: 'v2' } } },
      { kwargs: { protocol: 'v2', input: '\ud800' } },
    ].map(({ kwargs }) => storedRun({ threadId, kwargs: { ...storedRun().kwargs, ...kwargs } }));
    for (const run of inputs) await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
    const found = await listThreadRuns(WORKER, store.sql, threadId, { from: 0, which: PROTOCOL });
    expect(found.map(({ runId }) => runId)).toEqual([inputs[0]?.runId, inputs[2]?.runId]);
  });
});
