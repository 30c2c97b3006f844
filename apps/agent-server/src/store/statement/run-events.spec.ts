import { newId, storeFixture } from '../../../testdata/store-fixture.js';
import { WORKER } from '../worker-scope.js';
import { sweepRunEvents } from './run-events.js';

const store = storeFixture();

describe('sweepRunEvents', () => {
  it('removes events that were kept long enough, and leaves newer ones', async () => {
    const [old, recent] = [newId(), newId()];
    const insert = `INSERT INTO agentplane.run_events (run_id, attempt, n, event, data, repeated, created_at)
      VALUES ($1, 1, 0, 'custom', '1', false, clock_timestamp() - $2::interval)`;
    await store.pool.query(insert, [old, '1 hour']);
    await store.pool.query(insert, [recent, '1 second']);
    await sweepRunEvents(WORKER, store.sql, { keptMs: 60_000, resumableMs: 600_000 });
    const { rows } = await store.pool.query('SELECT run_id FROM agentplane.run_events');
    expect(rows).toEqual([{ run_id: recent }]);
  });
});
