import { createLogger } from '#lib/telemetry';
import { waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { storeFixture } from '../../testdata/store-fixture.js';
import { ItemSweeper } from './item-store.js';

const store = storeFixture();

async function rows(): Promise<readonly string[]> {
  const { rows: found } = await store.pool.query<{ key: string }>(
    'SELECT key FROM agentplane.store_items ORDER BY key',
  );
  return found.map(({ key }) => key);
}

describe('ItemSweeper', () => {
  it('removes every expired item in several statements, beside another server and a writer', async () => {
    const { pool, sql } = store;
    await pool.query(
      `INSERT INTO agentplane.store_items (namespace, key, value, ttl_minutes, expires_at)
       SELECT '{a}'::text[], 'expired ' || n, '{}'::jsonb, 1, clock_timestamp() - interval '1 s' FROM generate_series(1, 3500) n
       UNION ALL SELECT '{a}', 'later', '{}', 1, clock_timestamp() + interval '1 h'
       UNION ALL SELECT '{a}', 'never', '{}', NULL, NULL`,
    );
    const writer = await pool.connect();
    await writer.query('BEGIN');
    await writer.query(
      `UPDATE agentplane.store_items SET expires_at = clock_timestamp() + interval '1 h' WHERE key = 'expired 7'`,
    );
    const log = createLogger('test', 'silent');
    const sweepers = [1, 2].map(
      () => new ItemSweeper({ sql, intervalMinutes: 1 / 600, clock: systemClock, log }),
    );
    for (const sweeper of sweepers) sweeper.start();
    await waitFor(async () => (await rows()).length <= 3);
    await writer.query('COMMIT');
    writer.release();
    await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
    expect(await rows()).toEqual(['expired 7', 'later', 'never']);
  });
});
