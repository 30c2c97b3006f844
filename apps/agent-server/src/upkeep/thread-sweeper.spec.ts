import type { Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { FakeClock } from '#lib/testing';
import { newId, storeFixture } from '../../testdata/store-fixture.js';
import { Sql } from '../store/sql.js';
import { createThread } from '../store/statement/change-thread.js';
import { setThreadTtl } from '../store/statement/threads.js';
import { WORKER } from '../store/worker-scope.js';
import { ThreadSweeper } from './thread-sweeper.js';

/** The real database, where work on some threads takes too long. */
class SlowSql extends Sql {
  readonly slow = new Set<string>();

  constructor(pool: Pool) {
    super(pool);
  }

  override async transaction<T>(...given: Parameters<Sql['transaction']>): Promise<T> {
    if (this.slow.has(given[2]?.locks ?? '')) throw new Error('canceling statement due to statement timeout');
    return super.transaction(...given) as Promise<T>;
  }
}

describe('the sweeper of threads', () => {
  const store = storeFixture();

  it('removes the threads behind one that it cannot remove, and that one later', async () => {
    const sql = new SlowSql(store.pool);
    const threads = [newId(), newId(), newId()];
    for (const threadId of threads) {
      await createThread(WORKER, store.sql, threadId, {}, 'raise');
      await store.pool.query(
        `UPDATE agentplane.threads SET updated_at = now() - interval '1 hour' WHERE thread_id = $1`,
        [threadId],
      );
      await setThreadTtl(WORKER, store.sql, threadId, { strategy: 'delete', minutes: 1 });
    }
    for (const threadId of threads.slice(0, 2)) sql.slow.add(threadId);
    expect(await sweep(sql)).toEqual(threads.slice(0, 2));
    sql.slow.clear();
    await store.pool.query(`UPDATE agentplane.thread_ttls SET check_at = now()`); // a minute later
    expect(await sweep(sql)).toEqual([]);
  });

  /** The threads that are left, in the order in which they were made. */
  async function sweep(sql: Sql): Promise<string[]> {
    const clock = new FakeClock();
    const settings = {
      strategy: 'delete' as const,
      defaultMinutes: undefined,
      sweepIntervalMinutes: 5,
      sweepLimit: 100,
    };
    const sweeper = new ThreadSweeper({ sql, settings, clock, log: createLogger('test', 'silent') });
    sweeper.start();
    await clock.advance(5 * 60_000);
    await sweeper.stop();
    const { rows } = await store.pool.query<{ thread_id: string }>(
      'SELECT thread_id FROM agentplane.threads ORDER BY created_at',
    );
    return rows.map(({ thread_id: threadId }) => threadId);
  }
});
