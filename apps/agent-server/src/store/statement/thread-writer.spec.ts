import { PublicError } from '#lib/errors';
import { newId, runAtWork, storeFixture, untilLocked } from '../../../testdata/store-fixture.js';
import { type CallerScope, sqlFilter } from '../scope.js';
import { WORKER } from '../worker-scope.js';
import { storedThread } from '../../../testdata/stored-thread.js';
import { removeThreads, ThreadWriter } from './change-thread.js';

const store = storeFixture();
const ALICE: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };

/** Counts transactions that have written something so far. */
async function transactions(): Promise<number> {
  const { rows } = await store.pool.query<{ next: string }>(
    'SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next',
  );
  return Number(rows[0]?.next);
}

async function newThreads(writer: ThreadWriter, count: number, metadata = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, newId);
  await Promise.all(ids.map((id) => writer.create(WORKER, id, metadata)));
  return ids;
}

function codeOf(done: Promise<unknown>): Promise<string> {
  return done.then(
    () => 'done',
    (error: unknown) => (error instanceof PublicError ? error.code : String(error)),
  );
}

async function exist(threadId: string): Promise<boolean> {
  return (await storedThread(WORKER, store.sql, threadId)) !== undefined;
}

describe('ThreadWriter', () => {
  it('creates and removes many threads in few transactions', async () => {
    const writer = new ThreadWriter(store.sql);
    const before = await transactions();
    const threads = await newThreads(writer, 15, { a: 'b' });
    expect(await storedThread(WORKER, store.sql, threads[7] ?? '')).toMatchObject({
      status: 'idle',
      metadata: { a: 'b' },
      values: null,
    });
    await Promise.all(threads.map((threadId) => writer.remove(WORKER, threadId)));
    expect((await transactions()) - before).toBeLessThan(5);
    expect(await Promise.all(threads.map(exist))).toEqual(Array(15).fill(false));
  });

  it('judges each thread by the scope of its caller', async () => {
    const writer = new ThreadWriter(store.sql);
    const created = [{ owner: 'alice' }, { owner: 'bob' }].map((metadata) =>
      codeOf(writer.create(ALICE, newId(), metadata)),
    );
    expect(await Promise.all(created)).toEqual(['done', 'forbidden']);
    const [hers] = await newThreads(writer, 1, { owner: 'alice' });
    const [other, mine] = await newThreads(writer, 2);
    const removed = [
      writer.remove(ALICE, hers ?? ''),
      writer.remove(ALICE, other ?? ''),
      writer.remove(WORKER, mine ?? ''),
      writer.remove(WORKER, mine ?? ''),
      writer.remove(WORKER, newId()),
    ].map(codeOf);
    expect(await Promise.all(removed)).toEqual(['done', 'not_found', 'done', 'not_found', 'not_found']);
    expect(await exist(other ?? '')).toBe(true);
  });

  it('fails alone what Postgres refuses', async () => {
    const writer = new ThreadWriter(store.sql);
    const both = [writer.create(WORKER, 'no id', {}), writer.create(WORKER, newId(), {})];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it.each([
    ['thread', 'SELECT 1 FROM agentplane.threads WHERE thread_id = $1 FOR UPDATE'],
    ['run', 'SELECT 1 FROM agentplane.runs WHERE thread_id = $1 FOR SHARE'],
  ])('lets no thread whose %s another transaction holds delay the others', async (_what, hold) => {
    const writer = new ThreadWriter(store.sql);
    const [{ threadId: held }, { threadId: free }] = [await runAtWork(store.sql), await runAtWork(store.sql)];
    const holder = await store.pool.connect();
    await holder.query('BEGIN');
    await holder.query(hold, [held]);
    const waiting = writer.remove(WORKER, held);
    await writer.remove(WORKER, free);
    await untilLocked(store.pool);
    expect(await Promise.race([waiting, 'waits'])).toBe('waits');
    await holder.query('COMMIT');
    holder.release();
    await waiting;
    expect([await exist(held), await exist(free)]).toEqual([false, false]);
    const { rows } = await store.pool.query('SELECT 1 FROM agentplane.runs WHERE thread_id IN ($1, $2)', [
      held,
      free,
    ]);
    expect(rows).toEqual([]);
  });

  it.each([
    [
      'checkpoints',
      `checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint) SELECT $1, '', n::text, '{}'`,
    ],
    [
      'writes',
      `checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob) SELECT $1, 'a', 'b', n, 'c', ''`,
    ],
    ['blobs', `checkpoint_blobs (thread_id, channel, version, type) SELECT $1, 'c', n::text, 'json'`],
  ])('leaves a thread of many %s out of a group', async (_what, rows) => {
    const writer = new ThreadWriter(store.sql);
    const threads = await newThreads(writer, 3);
    const [large = '', some = ''] = threads;
    for (const [threadId, count] of [
      [large, 600],
      [some, 90],
    ])
      await store.pool.query(`INSERT INTO agentplane.${rows} FROM generate_series(1, $2::int) AS n`, [
        threadId,
        count,
      ]);
    const removals = threads.map((threadId) => ({ scope: WORKER, threadId }));
    expect([...(await removeThreads(WORKER, store.sql, removals))].sort()).toEqual(threads.slice(1).sort());
    await writer.remove(WORKER, large);
    expect(await exist(large)).toBe(false);
  });

  it('removes a large thread with all its checkpoints', async () => {
    const writer = new ThreadWriter(store.sql);
    const [threadId] = await newThreads(writer, 1);
    await store.pool.query(
      `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)
       SELECT $1, '', n::text, '{}' FROM generate_series(1, 150) AS n`,
      [threadId],
    );
    await writer.remove(WORKER, threadId ?? '');
    const { rows } = await store.pool.query('SELECT 1 FROM agentplane.checkpoints WHERE thread_id = $1', [
      threadId,
    ]);
    expect(rows).toEqual([]);
  });
});
