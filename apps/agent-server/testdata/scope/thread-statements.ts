import { patchCheckpoint } from '../../src/store/checkpoint/checkpoints.js';
import {
  copyThread,
  lockThread,
  patchThread,
  pruneThread,
  removeThread,
  removeThreads,
  setThreadState,
} from '../../src/store/statement/change-thread.js';
import {
  countThreads,
  findInterrupts,
  findSmallValues,
  findThread,
  findThreadEnd,
  findThreadHead,
  findThreadPriority,
  findValues,
  getThread,
  getThreadHead,
  listThreadIds,
  measureThread,
  readThreads,
  searchThreads,
  findThreadStorage,
  findThreadTtl,
  setThreadTtl,
} from '../../src/store/statement/threads.js';
import { WORKER } from '../../src/store/worker-scope.js';
import { newId, type StoreFixture } from '../store-fixture.js';
import { type CallerStatements, PAGE } from './caller-statement.js';

/** Bare checkpoints, made without a graph. */
async function addCheckpoints(store: StoreFixture, threadId: string, count: number): Promise<void> {
  await store.pool.query(
    `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
     SELECT $1, '', 'checkpoint-' || n, '{"channel_versions": {}}', '{}' FROM generate_series(1, $2::int) n`,
    [threadId, count],
  );
}

/** Statements about threads. */
export const THREAD_STATEMENTS: CallerStatements = {
  findThread: {
    ask: (scope, { threadId }, store) => findThread(scope, store.sql, threadId),
    absent: undefined,
  },
  getThread: {
    ask: (scope, { threadId }, store) => getThread(scope, store.sql, threadId),
    absent: 'not_found',
  },
  findThreadHead: {
    ask: (scope, { threadId }, store) => findThreadHead(scope, store.sql, threadId),
    absent: undefined,
  },
  findThreadPriority: {
    ask: (scope, { threadId }, store) => findThreadPriority(scope, store.sql, threadId, { priority: 1 }),
    absent: undefined,
  },
  getThreadHead: {
    ask: (scope, { threadId }, store) => getThreadHead(scope, store.sql, threadId),
    absent: 'not_found',
  },
  findThreadEnd: {
    ask: (scope, { threadId }, store) => findThreadEnd(scope, store.sql, threadId, true),
    absent: undefined,
  },
  findInterrupts: {
    ask: (scope, { threadId }, store) => findInterrupts(scope, store.sql, threadId, true),
    absent: undefined,
  },
  lockThread: {
    ask: (scope, { threadId }, store) =>
      store.sql.transaction(scope, (inside) => lockThread(scope, inside, threadId)),
    absent: 'not_found',
  },
  patchThread: {
    ask: (scope, { threadId }, store) => patchThread(scope, store.sql, threadId, { owner: 'alice' }),
    absent: 'not_found',
  },
  removeThread: {
    ask: (scope, { threadId }, store) => removeThread(scope, store.sql, threadId),
    absent: 'not_found',
  },
  readThreads: {
    ask: async (scope, { threadId }, store) => {
      const [text] = await readThreads(WORKER, store.sql, [{ scope, threadId }]);
      return text;
    },
    absent: undefined,
  },
  removeThreads: {
    ask: async (scope, { threadId }, store) =>
      (await removeThreads(WORKER, store.sql, [{ scope, threadId }])).size,
    absent: 0,
  },
  copyThread: {
    ask: (scope, { threadId }, store) =>
      copyThread(scope, store.sql, threadId, { thread_id: newId(), metadata: {} }),
    absent: 'not_found',
  },
  measureThread: {
    ask: (scope, { threadId }, store) => measureThread(scope, store.sql, threadId),
    absent: 'not_found',
  },
  findThreadStorage: {
    ask: (scope, { threadId }, store) => findThreadStorage(scope, store.sql, threadId),
    absent: 'not_found',
  },
  pruneThread: {
    ask: async (scope, { threadId }, store) => {
      await addCheckpoints(store, threadId, 2);
      const isPruned = await pruneThread(scope, store.sql, threadId);
      await store.pool.query('DELETE FROM agentplane.checkpoints WHERE thread_id = $1', [threadId]);
      return isPruned;
    },
    absent: false,
  },
  patchCheckpoint: {
    ask: async (scope, { threadId }, store) => {
      await addCheckpoints(store, threadId, 1);
      const isPatched = await patchCheckpoint(scope, store.sql, threadId, { a: 1 });
      await store.pool.query('DELETE FROM agentplane.checkpoints WHERE thread_id = $1', [threadId]);
      return isPatched;
    },
    absent: false,
  },
  searchThreads: {
    ask: (scope, { threadId }, store) =>
      searchThreads(
        scope,
        store.sql,
        { ids: [threadId] },
        { ...PAGE, sortBy: 'created_at', isAscending: true },
      ),
    absent: [],
  },
  countThreads: {
    ask: (scope, { threadId }, store) => countThreads(scope, store.sql, { ids: [threadId] }),
    absent: 0,
  },
  listThreadIds: {
    ask: (scope, { threadId }, store) => listThreadIds(scope, store.sql, { ids: [threadId] }, 10),
    absent: [],
  },
  setThreadState: {
    ask: (scope, { threadId }, store) =>
      setThreadState(scope, store.sql, threadId, { values: '{}', status: 'idle', interrupts: '{}' }),
    absent: undefined,
  },
  findValues: {
    ask: async (scope, { threadId }, store) => {
      const give = 'UPDATE agentplane.threads SET values = $2 WHERE thread_id = $1';
      await store.pool.query(give, [threadId, '{}']);
      const values = await findValues(scope, store.sql, threadId);
      await store.pool.query(give, [threadId, null]);
      return values;
    },
    absent: undefined,
  },
  findSmallValues: {
    ask: async (scope, { threadId }, store) => {
      const give = 'UPDATE agentplane.threads SET values = $2 WHERE thread_id = $1';
      await store.pool.query(give, [threadId, '{}']);
      const values = await findSmallValues(scope, store.sql, threadId, true);
      await store.pool.query(give, [threadId, null]);
      return values;
    },
    absent: undefined,
  },
  findThreadTtl: {
    ask: (scope, { threadId }, store) => findThreadTtl(scope, store.sql, threadId),
    absent: undefined,
  },
  setThreadTtl: {
    ask: (scope, { threadId }, store) =>
      setThreadTtl(scope, store.sql, threadId, { strategy: 'delete', minutes: 5 }),
    absent: false,
  },
};
