import { jest } from '@jest/globals';
import { PublicError } from '#lib/errors';
import { newId, storeFixture } from '../../../testdata/store-fixture.js';
import { THREAD_FIELDS } from '../row/thread-row.js';
import { withWireTimes } from '../row/run-row.js';
import { type CallerScope, sqlFilter } from '../scope.js';
import { WORKER } from '../worker-scope.js';
import { getThread } from './threads.js';
import { ThreadReader, ThreadWriter } from './change-thread.js';

const store = storeFixture();
const ALICE: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };
const BOB: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'bob' }) };

async function newThread(metadata = {}): Promise<string> {
  const threadId = newId();
  await new ThreadWriter(store.sql).create(WORKER, threadId, metadata);
  return threadId;
}

function answerOf(asked: Promise<string>): Promise<unknown> {
  return asked.then(
    (text): unknown => JSON.parse(text),
    (error: unknown) => (error instanceof PublicError ? error.code : error),
  );
}

describe('ThreadReader', () => {
  it('shows a thread as its row says, and documents as they were written', async () => {
    const threadId = await newThread({ owner: 'älice', deep: [{ n: 1 }] });
    await store.pool.query(
      `UPDATE agentplane.threads SET values = $2, error = $3, interrupts = $4, created_at = $5 WHERE thread_id = $1`,
      [threadId, '{"a": 1.0, "nul": "\\u0000"}', '{"error":"E"}', '{"t":[1]}', '2026-01-02T03:04:05.678912Z'],
    );
    const text = await new ThreadReader(store.sql).read(WORKER, threadId);
    const { rows } = await store.pool.query<Record<'created_at' | 'updated_at', Date>>(
      'SELECT thread_id, created_at, updated_at, state_updated_at, metadata, status, config, values, interrupts, error FROM agentplane.threads WHERE thread_id = $1',
      [threadId],
    );
    const [row] = rows;
    if (!row) throw new Error('no row');
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(withWireTimes(row))));
    expect(Object.keys(JSON.parse(text) as object)).toEqual(THREAD_FIELDS);
    expect(text).toContain('{"a": 1.0, "nul": "\\u0000"}');
  });

  it('judges each question by the scope of its caller, also about the same thread', async () => {
    const threadId = await newThread({ owner: 'alice' });
    const reader = new ThreadReader(store.sql);
    const asked = [ALICE, BOB, WORKER, ALICE].map((scope) => answerOf(reader.read(scope, threadId)));
    const missing = answerOf(reader.read(WORKER, newId()));
    const seen = expect.objectContaining({ thread_id: threadId }) as unknown;
    expect(await Promise.all([...asked, missing])).toEqual([seen, 'not_found', seen, seen, 'not_found']);
  });

  it('reads a large thread beside small ones', async () => {
    const [large, small] = [await newThread(), await newThread()];
    // random, as compressible data are small in the database
    await store.pool.query(
      `UPDATE agentplane.threads SET values = (SELECT json_agg(gen_random_uuid()) FROM generate_series(1, 5000))
       WHERE thread_id = $1`,
      [large],
    );
    const reader = new ThreadReader(store.sql);
    const texts = await Promise.all([large, small].map((threadId) => reader.read(WORKER, threadId)));
    expect(texts).toEqual(
      await Promise.all([large, small].map((threadId) => getThread(WORKER, store.sql, threadId))),
    );
    expect(texts[0]?.length).toBeGreaterThan(100_000);
  });

  it('answers many questions by few statements', async () => {
    const threadId = await newThread();
    const asked = jest.spyOn(store.sql, 'asWorker');
    const reader = new ThreadReader(store.sql);
    await Promise.all(Array.from({ length: 50 }, () => reader.read(WORKER, threadId)));
    expect(asked.mock.calls.length).toBeLessThan(3);
    asked.mockRestore();
  });
});
