import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from './change-thread.js';
import { WORKER } from '../worker-scope.js';
import { claimRuns } from './claim-runs.js';
import { countQueuedRuns } from './runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();
const SERVER = serverOf('one');

async function submit(threadId: string, graphId = 'graph', delayMs = 0): Promise<void> {
  await submitRun(WORKER, store.sql, SERVER, storedRun({ threadId, graphId }), queueing({ delayMs }));
}

async function newThread(): Promise<string> {
  const threadId = newId();
  await createThread(WORKER, store.sql, threadId, {}, 'raise');
  return threadId;
}

describe('the number of queued runs', () => {
  it('counts exactly the runs that a server with enough places would claim', async () => {
    const busy = await newThread();
    await submit(busy);
    await submit(busy); // behind the first
    await submit(await newThread(), 'graph', 1_000_000); // not due
    await submit(await newThread(), 'another graph');
    await submit(await newThread());
    expect(await countQueuedRuns(WORKER, store.sql, SERVER)).toBe(2);
    expect(await countQueuedRuns(WORKER, store.sql, serverOf('two', ['another graph']))).toBe(1);
    expect(await claimRuns(WORKER, store.sql, SERVER, 50)).toHaveLength(2);
    expect(await countQueuedRuns(WORKER, store.sql, SERVER)).toBe(0); // one waits behind a running run
  });
});
