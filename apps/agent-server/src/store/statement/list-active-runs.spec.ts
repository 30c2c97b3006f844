import { newId, queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { createThread } from './change-thread.js';
import { WORKER } from '../worker-scope.js';
import { type ActiveRun, listActiveRuns } from './runs.js';
import { submitRun } from './submit-run.js';

const store = storeFixture();

describe('listActiveRuns', () => {
  it('lists runs in portions, each once, and none that comes after the first look', async () => {
    const threadId = newId();
    await createThread(WORKER, store.sql, threadId, {}, 'raise');
    const submit = async (): Promise<string> => {
      const run = storedRun({ threadId });
      await submitRun(WORKER, store.sql, serverOf('one'), run, queueing());
      return run.runId;
    };
    const runIds: string[] = [];
    for (let count = 0; count < 250; count++) runIds.push(await submit());
    const found: string[] = [];
    const portions: number[] = [];
    for (let after: ActiveRun | undefined; ;) {
      const portion = await listActiveRuns(WORKER, store.sql, { status: 'pending', threadId, after });
      found.push(...portion.map(({ runId }) => runId));
      portions.push(portion.length);
      after = portion.at(-1);
      if (!after) break;
      await submit();
    }
    expect(found).toEqual(runIds);
    expect(portions).toEqual([200, 50, 0]);
  });
});
