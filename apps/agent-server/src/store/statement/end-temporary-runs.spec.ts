import { systemClock } from '#lib/time';
import { queueing, serverOf, storedRun, storeFixture } from '../../../testdata/store-fixture.js';
import { TemporaryRuns } from '../../run/thread-runs.js';
import type { RunEnd } from '../row/claimed-run.js';
import { WORKER } from '../worker-scope.js';
import { claimRuns } from './claim-runs.js';

const store = storeFixture();
const server = serverOf('one');
const end: RunEnd = { status: 'success', threadStatus: 'idle' };

describe.each([
  ['without a webhook', undefined],
  ['with a webhook', 'http://receiver.example/'],
])('ends of runs without a thread, %s', (_name, webhook) => {
  const temporary = (): TemporaryRuns => new TemporaryRuns(store.sql, server, systemClock);

  async function claimed() {
    const run = storedRun({ isTemporary: true });
    const kwargs = { ...run.kwargs, ...(webhook === undefined ? {} : { webhook }) };
    await temporary().submit({ scope: WORKER, run: { ...run, kwargs }, queueing: queueing() });
    const [first] = await claimRuns(WORKER, store.sql, server, 1);
    if (first?.runId !== run.runId) throw new Error('another run was claimed');
    return first;
  }

  it.each([true, false])(
    'takes an end again whose answer was lost, with a row that stays: %s',
    async (isRead) => {
      const run = await claimed();
      const ask = async (isRepeated: boolean) =>
        (await temporary().end({ run, end, isRead, isRepeated })).isAccepted;
      expect([await ask(false), await ask(false), await ask(true)]).toEqual([true, false, true]);
      const calls = await store.pool.query('SELECT FROM agentplane.webhooks WHERE run_id = $1', [run.runId]);
      expect(calls.rowCount).toBe(webhook === undefined ? 0 : 1);
      await store.pool.query('DELETE FROM agentplane.runs');
    },
  );

  it('refuses an end once a newer attempt has the run, also a repeated one', async () => {
    const run = await claimed();
    await store.pool.query('UPDATE agentplane.runs SET attempt = 2 WHERE run_id = $1', [run.runId]);
    for (const isRepeated of [false, true])
      expect((await temporary().end({ run, end, isRead: false, isRepeated })).isAccepted).toBe(false);
    await store.pool.query('DELETE FROM agentplane.runs');
  });
});
