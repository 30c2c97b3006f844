import { randomBytes } from 'node:crypto';
import { newId, storeFixture } from '../../../testdata/store-fixture.js';
import { WORKER } from '../worker-scope.js';
import { createThread } from './change-thread.js';
import { measureThread } from './threads.js';

describe('the size of a thread', () => {
  const store = storeFixture();

  it('counts its states as they are stored, and none of other threads', async () => {
    const [small, large] = [newId(), newId()];
    for (const threadId of [small, large]) await createThread(WORKER, store.sql, threadId, {}, 'raise');
    const blob = `INSERT INTO agentplane.checkpoint_blobs (thread_id, channel, version, type, blob)
      VALUES ($1, $2, '1', 'bytes', $3)`;
    await store.pool.query(blob, [large, 'random', randomBytes(1_000_000)]);
    await store.pool.query(blob, [large, 'none', null]);
    await store.pool.query(blob, [small, 'zeros', Buffer.alloc(1_000_000)]);
    expect(await measureThread(WORKER, store.sql, small)).toBeLessThan(50_000);
    const bytes = await measureThread(WORKER, store.sql, large);
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(bytes).toBeLessThan(1_010_000);
  });
});
