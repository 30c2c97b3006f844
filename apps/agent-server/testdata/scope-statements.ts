import { newId, queueing, serverOf, storedRun, type StoreFixture } from './store-fixture.js';
import { findWebhook } from '../src/store/webhook/find-webhook.js';
import { chooseAssistantVersion } from '../src/store/assistant/choose-assistant-version.js';
import { countAssistants } from '../src/store/assistant/count-assistants.js';
import { findAssistant } from '../src/store/assistant/find-assistant.js';
import { listAssistantVersions } from '../src/store/assistant/list-assistant-versions.js';
import { patchAssistant } from '../src/store/assistant/patch-assistant.js';
import { removeAssistant } from '../src/store/assistant/remove-assistant.js';
import { searchAssistants } from '../src/store/assistant/search-assistants.js';
import { copyThread } from '../src/store/thread/copy-thread.js';
import { pruneThread } from '../src/store/thread/prune-thread.js';
import { findThreadTtl } from '../src/store/ttl/find-thread-ttl.js';
import { setThreadTtl } from '../src/store/ttl/set-thread-ttl.js';
import { changeCron } from '../src/store/cron/change-cron.js';
import { countCrons } from '../src/store/cron/count-crons.js';
import { findCron } from '../src/store/cron/find-cron.js';
import { removeCron } from '../src/store/cron/remove-cron.js';
import { searchCrons } from '../src/store/cron/search-crons.js';
import { patchCheckpoint } from '../src/store/checkpoint/patch-checkpoint.js';
import { listActiveRuns } from '../src/store/run/list-active-runs.js';
import { cancelRun } from '../src/store/run/cancel-run.js';
import { findObstacle } from '../src/store/run/find-obstacle.js';
import { findRunPlace } from '../src/store/run/find-run-place.js';
import { findRun } from '../src/store/run/find-run.js';
import { findRunHead } from '../src/store/run/find-run-head.js';
import { hasActiveRun } from '../src/store/run/has-active-run.js';
import { listThreadRuns } from '../src/store/run/list-thread-runs.js';
import { listRuns } from '../src/store/run/list-runs.js';
import { removeRun } from '../src/store/run/remove-run.js';
import { submitRun } from '../src/store/run/submit-run.js';
import { submitRuns } from '../src/store/run/submit-runs.js';
import { ThreadSubmission } from '../src/store/row/thread-submission.js';
import type { Scope } from '../src/store/scope.js';
import { eraseRunTrace, eraseThreadTraces } from '../src/store/erasure/erase-traces.js';
import { removeCrons } from '../src/store/cron/remove-crons.js';
import { listTemporaryRuns } from '../src/store/run/list-temporary-runs.js';
import { removeTemporaryRun } from '../src/store/run/remove-temporary-run.js';
import { removeWebhook } from '../src/store/webhook/remove-webhook.js';
import { countItems } from '../src/store/item/count-items.js';
import { removeItems } from '../src/store/item/remove-items.js';
import { getItem } from '../src/store/item/get-item.js';
import { listEmbeddedItems } from '../src/store/item/list-embedded-items.js';
import { listItems } from '../src/store/item/list-items.js';
import { listNamespaces } from '../src/store/item/list-namespaces.js';
import { readVectors } from '../src/store/item/read-vectors.js';
import { refreshItems } from '../src/store/item/refresh-items.js';
import { removeItem } from '../src/store/item/remove-item.js';
import { searchItems } from '../src/store/item/search-items.js';
import { cancelWaitingTask } from '../src/store/task/cancel-waiting-task.js';
import { countTasks } from '../src/store/task/count-tasks.js';
import { listTaskRuns } from '../src/store/task/list-task-runs.js';
import { findInputId } from '../src/store/task/find-input-id.js';
import { listTasks } from '../src/store/task/list-tasks.js';
import { countThreads } from '../src/store/thread/count-threads.js';
import { findThread } from '../src/store/thread/find-thread.js';
import { findInterrupts } from '../src/store/thread/find-interrupts.js';
import { findThreadEnd } from '../src/store/thread/find-thread-end.js';
import { findThreadHead } from '../src/store/thread/find-thread-head.js';
import { findSmallValues, findValues } from '../src/store/thread/find-values.js';
import { getThread } from '../src/store/thread/get-thread.js';
import { getThreadHead } from '../src/store/thread/get-thread-head.js';
import { listThreadIds } from '../src/store/thread/list-thread-ids.js';
import { lockThread } from '../src/store/thread/lock-thread.js';
import { measureThread } from '../src/store/thread/measure-thread.js';
import { patchThread } from '../src/store/thread/patch-thread.js';
import { readThreads } from '../src/store/thread/read-threads.js';
import { removeThread } from '../src/store/thread/remove-thread.js';
import { removeThreads } from '../src/store/thread/remove-threads.js';
import { searchThreads } from '../src/store/thread/search-threads.js';
import { setThreadState } from '../src/store/thread/set-thread-state.js';
import { WORKER } from '../src/store/worker-scope.js';
import { cronWith, type Owned } from './owned-rows.js';

const PAGE = { limit: 1_000, offset: 0 };

/** Bare checkpoints, made without a graph. */
async function addCheckpoints(store: StoreFixture, threadId: string, count: number): Promise<void> {
  await store.pool.query(
    `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
     SELECT $1, '', 'checkpoint-' || n, '{"channel_versions": {}}', '{}' FROM generate_series(1, $2::int) n`,
    [threadId, count],
  );
}

interface CallerStatement {
  /** Asks under a scope for rows of an owner. */
  readonly ask: (scope: Scope, owned: Owned, store: StoreFixture) => Promise<unknown>;
  /** The answer when those rows do not exist. */
  readonly absent: unknown;
}

const { threadId: absentThread, runId: absentRun } = { threadId: newId(), runId: newId() };
export const ABSENT: Owned = {
  threadId: absentThread,
  assistantId: newId(),
  runId: absentRun,
  endedRunId: absentRun,
  calledRunId: absentRun,
  cronId: newId(),
  temporary: { runId: newId(), threadId: newId() },
  item: { namespace: ['of', newId()], key: 'item' },
  itemId: '0',
  task: { runId: newId(), threadId: newId() },
};

function taskSearch(assistantId: string) {
  return { assistantId, contextId: undefined, state: undefined, since: undefined };
}

/** How many deletions of traces were ordered under this id. */
async function ordered(store: StoreFixture, asked: Promise<void>, id: string): Promise<number> {
  await asked;
  const found = await store.pool.query('SELECT FROM agentplane.trace_erasures WHERE id = $1', [id]);
  return found.rowCount ?? 0;
}

const CALLER_STATEMENTS: Readonly<Record<string, CallerStatement>> = {
  findAssistant: {
    ask: (scope, { assistantId }, store) => findAssistant(scope, store.sql, assistantId),
    absent: undefined,
  },
  searchAssistants: {
    ask: async (scope, { assistantId }, store) => {
      const page = { ...PAGE, sortBy: 'created_at', isAscending: true } as const;
      const found = await searchAssistants(scope, store.sql, {}, page);
      return found.filter((assistant) => assistant.assistant_id === assistantId);
    },
    absent: [],
  },
  countAssistants: {
    ask: (scope, { assistantId }, store) =>
      countAssistants(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  patchAssistant: {
    ask: (scope, { assistantId }, store) => patchAssistant(scope, store.sql, assistantId, { name: newId() }),
    absent: 'not_found',
  },
  listAssistantVersions: {
    ask: (scope, { assistantId }, store) =>
      listAssistantVersions(scope, store.sql, assistantId, { ...PAGE, metadata: undefined }),
    absent: [],
  },
  chooseAssistantVersion: {
    ask: (scope, { assistantId }, store) => chooseAssistantVersion(scope, store.sql, assistantId, 1),
    absent: undefined,
  },
  removeAssistant: {
    ask: (scope, { assistantId }, store) => removeAssistant(scope, store.sql, assistantId),
    absent: false,
  },
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
  findObstacle: {
    ask: (scope, { temporary }, store) =>
      findObstacle(scope, store.sql, temporary.runId, { perAssistant: 0, perCaller: 0 }),
    absent: undefined,
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
  hasActiveRun: {
    ask: (scope, { threadId }, store) => hasActiveRun(scope, store.sql, threadId),
    absent: false,
  },
  submitRun: {
    ask: (scope, { threadId }, store) =>
      submitRun(
        scope,
        store.sql,
        serverOf('one'),
        storedRun({ threadId }),
        queueing({ strategy: 'rollback' }),
      ),
    absent: 'not_found',
  },
  submitRuns: {
    ask: async (scope, { threadId }, store) => {
      const submission = new ThreadSubmission(scope, storedRun({ threadId }), queueing());
      return (await submitRuns(WORKER, store.sql, serverOf('one'), [submission])).size;
    },
    absent: 0,
  },
  findRun: {
    ask: (scope, { runId, temporary }, store) =>
      Promise.all([{ runId }, temporary].map((run) => findRun(scope, store.sql, run, true))),
    absent: [undefined, undefined],
  },
  findRunHead: {
    ask: (scope, { runId, temporary }, store) =>
      Promise.all([findRunHead(scope, store.sql, runId), findRunHead(scope, store.sql, temporary.runId)]),
    absent: [undefined, undefined],
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
  findInputId: {
    ask: async (scope, { runId }, store) => {
      const given = { input: { messages: [{ id: 'given' }] } };
      const { rows } = await store.pool.query<{ kwargs: object }>(
        'SELECT kwargs FROM agentplane.runs WHERE run_id = $1',
        [runId],
      );
      const give = 'UPDATE agentplane.runs SET kwargs = $2 WHERE run_id = $1';
      await store.pool.query(give, [runId, JSON.stringify({ ...rows[0]?.kwargs, ...given })]);
      const id = await findInputId(scope, store.sql, runId);
      await store.pool.query(give, [runId, JSON.stringify(rows[0]?.kwargs)]);
      return id;
    },
    absent: undefined,
  },
  findCron: { ask: (scope, { cronId }, store) => findCron(scope, store.sql, cronId), absent: undefined },
  searchCrons: {
    ask: (scope, { assistantId }, store) =>
      searchCrons(scope, store.sql, { assistantId }, { ...PAGE, sortBy: 'created_at', isAscending: true }),
    absent: [],
  },
  countCrons: {
    ask: (scope, { assistantId }, store) =>
      countCrons(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  changeCron: {
    ask: (scope, { cronId }, store) => changeCron(scope, store.sql, cronId, cronWith({ owner: 'alice' })),
    absent: 'not_found',
  },
  removeCron: { ask: (scope, { cronId }, store) => removeCron(scope, store.sql, cronId), absent: false },
  findThreadTtl: {
    ask: (scope, { threadId }, store) => findThreadTtl(scope, store.sql, threadId),
    absent: undefined,
  },
  setThreadTtl: {
    ask: (scope, { threadId }, store) =>
      setThreadTtl(scope, store.sql, threadId, { strategy: 'delete', minutes: 5 }),
    absent: false,
  },
  findWebhook: {
    ask: (scope, { endedRunId, calledRunId }, store) =>
      Promise.all([endedRunId, calledRunId].map((runId) => findWebhook(scope, store.sql, runId))),
    absent: [undefined, undefined],
  },
  listActiveRuns: {
    ask: (scope, { threadId }, store) => listActiveRuns(scope, store.sql, { status: 'running', threadId }),
    absent: [],
  },
  findRunPlace: {
    ask: (scope, { threadId }, store) => findRunPlace(scope, store.sql, threadId),
    absent: undefined,
  },
  listThreadRuns: {
    ask: async (scope, { threadId }, store) => {
      const kinds = [
        { kind: 'all' },
        { kind: 'active' },
        { kind: 'protocol', keptMs: 1e9, fromPlace: 0 },
      ] as const;
      const found = kinds.map((which) => listThreadRuns(scope, store.sql, threadId, { from: 0, which }));
      return (await Promise.all(found)).flat();
    },
    absent: [],
  },
  listRuns: {
    ask: (scope, { threadId }, store) =>
      listRuns(scope, store.sql, threadId, { ...PAGE, status: undefined, fields: ['run_id'] }),
    absent: [],
  },
  cancelRun: {
    ask: async (scope, { runId, threadId, temporary }, store) => [
      await cancelRun(scope, store.sql, runId, threadId, 'rollback'),
      await cancelRun(scope, store.sql, temporary.runId, temporary.threadId, 'rollback'),
    ],
    absent: ['no_run', 'no_run'],
  },
  listTaskRuns: {
    ask: (scope, { task, assistantId }, store) => listTaskRuns(scope, store.sql, task.runId, assistantId),
    absent: [],
  },
  listTasks: {
    ask: (scope, { assistantId }, store) =>
      listTasks(scope, store.sql, taskSearch(assistantId), { limit: 10, after: undefined }),
    absent: { runs: [], hasMore: false },
  },
  countTasks: {
    ask: (scope, { assistantId }, store) => countTasks(scope, store.sql, taskSearch(assistantId)),
    absent: 0,
  },
  cancelWaitingTask: {
    ask: (scope, { task }, store) => cancelWaitingTask(scope, store.sql, task.runId, task.threadId),
    absent: false,
  },
  eraseThreadTraces: {
    ask: (scope, { threadId }, store) =>
      ordered(store, eraseThreadTraces(scope, store.sql, threadId), threadId),
    absent: 0,
  },
  eraseRunTrace: {
    ask: (scope, { endedRunId }, store) =>
      ordered(store, eraseRunTrace(scope, store.sql, endedRunId), endedRunId),
    absent: 0,
  },
  listTemporaryRuns: {
    ask: async (scope, { temporary: { runId } }, store) =>
      (await listTemporaryRuns(scope, store.sql, {})).filter((id) => id === runId),
    absent: [],
  },
  removeTemporaryRun: {
    ask: (scope, { temporary: { runId } }, store) => removeTemporaryRun(scope, store.sql, runId),
    absent: false,
  },
  removeCrons: {
    ask: (scope, { assistantId }, store) => removeCrons(scope, store.sql, { marked: assistantId }),
    absent: 0,
  },
  removeWebhook: {
    ask: (scope, { calledRunId }, store) => removeWebhook(scope, store.sql, calledRunId),
    absent: false,
  },
  removeRun: {
    ask: (scope, { endedRunId, threadId }, store) => removeRun(scope, store.sql, endedRunId, threadId),
    absent: false,
  },
};

const ITEM_STATEMENTS: Readonly<Record<string, CallerStatement>> = {
  getItem: { ask: (scope, { item }, store) => getItem(scope, store.sql, item, true), absent: undefined },
  removeItem: { ask: (scope, { item }, store) => removeItem(scope, store.sql, item), absent: false },
  removeItems: {
    ask: (scope, { item }, store) => removeItems(scope, store.sql, item.namespace, 5),
    absent: 0,
  },
  countItems: { ask: (scope, { item }, store) => countItems(scope, store.sql, item.namespace), absent: 0 },
  searchItems: {
    ask: (scope, { item }, store) =>
      searchItems(scope, store.sql, { prefix: item.namespace, filter: undefined }, PAGE),
    absent: [],
  },
  listItems: { ask: (scope, { itemId }, store) => listItems(scope, store.sql, [itemId]), absent: [] },
  listEmbeddedItems: {
    ask: (scope, { item }, store) =>
      listEmbeddedItems(
        ...([
          scope,
          store.sql,
          { prefix: item.namespace, filter: undefined },
          { dims: 2, limit: 5 },
        ] as const),
      ),
    absent: [],
  },
  readVectors: {
    ask: (scope, { itemId }, store) => readVectors(scope, store.sql, [itemId], 2),
    absent: [],
  },
  refreshItems: {
    ask: (scope, { itemId }, store) => refreshItems(scope, store.sql, [itemId]),
    absent: undefined,
  },
  listNamespaces: {
    ask: (scope, { item: { namespace } }, store) =>
      listNamespaces(scope, store.sql, { prefix: namespace, suffix: [], maxDepth: undefined, ...PAGE }),
    absent: [],
  },
};

/** Every statement that takes the scope of a caller, by its name. */
export const SCOPE_STATEMENTS = { ...CALLER_STATEMENTS, ...ITEM_STATEMENTS };
