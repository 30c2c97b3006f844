import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PublicError } from '#lib/errors';
import { systemClock } from '#lib/time';
import {
  newId,
  queueing,
  runAtWork,
  serverOf,
  storedRun,
  storeFixture,
} from '../../testdata/store-fixture.js';
import { findWebhook } from './webhook/find-webhook.js';
import { TemporaryRuns } from '../run/temporary-runs.js';
import { createAssistant } from './assistant/create-assistant.js';
import { chooseAssistantVersion } from './assistant/choose-assistant-version.js';
import { countAssistants } from './assistant/count-assistants.js';
import { findAssistant } from './assistant/find-assistant.js';
import { listAssistantVersions } from './assistant/list-assistant-versions.js';
import { patchAssistant } from './assistant/patch-assistant.js';
import { removeAssistant } from './assistant/remove-assistant.js';
import { searchAssistants } from './assistant/search-assistants.js';
import { ThreadSaver } from './checkpoint/thread-saver.js';
import { copyThread } from './thread/copy-thread.js';
import { pruneThread } from './thread/prune-thread.js';
import { findThreadTtl } from './ttl/find-thread-ttl.js';
import { setThreadTtl } from './ttl/set-thread-ttl.js';
import { changeCron } from './cron/change-cron.js';
import { countCrons } from './cron/count-crons.js';
import { createCron } from './cron/create-cron.js';
import { findCron } from './cron/find-cron.js';
import { removeCron } from './cron/remove-cron.js';
import { searchCrons } from './cron/search-crons.js';
import { patchCheckpoint } from './checkpoint/patch-checkpoint.js';
import { listActiveRuns } from './run/list-active-runs.js';
import { requireAdmitted } from './metadata/require-admitted.js';
import { cancelRun } from './run/cancel-run.js';
import { findObstacle } from './run/find-obstacle.js';
import { findRunPlace } from './run/find-run-place.js';
import { findRun } from './run/find-run.js';
import { findRunHead } from './run/find-run-head.js';
import { hasActiveRun } from './run/has-active-run.js';
import { listThreadRuns } from './run/list-thread-runs.js';
import { listRuns } from './run/list-runs.js';
import { removeRun } from './run/remove-run.js';
import { submitRun } from './run/submit-run.js';
import { submitRuns } from './run/submit-runs.js';
import type { ItemPlace } from './row/item-row.js';
import { ThreadSubmission } from './row/thread-submission.js';
import type { CallerScope, Scope } from './scope.js';
import { EVERY_ROW, sqlFilter } from './sql-filter.js';
import { eraseRunTrace, eraseThreadTraces } from './erasure/erase-traces.js';
import { removeCrons } from './cron/remove-crons.js';
import { listTemporaryRuns } from './run/list-temporary-runs.js';
import { removeTemporaryRun } from './run/remove-temporary-run.js';
import { removeWebhook } from './webhook/remove-webhook.js';
import { countItems } from './item/count-items.js';
import { removeItems } from './item/remove-items.js';
import { getItem } from './item/get-item.js';
import { listEmbeddedItems } from './item/list-embedded-items.js';
import { listItems } from './item/list-items.js';
import { listNamespaces } from './item/list-namespaces.js';
import { putItem } from './item/put-item.js';
import { readVectors } from './item/read-vectors.js';
import { refreshItems } from './item/refresh-items.js';
import { removeItem } from './item/remove-item.js';
import { searchItems } from './item/search-items.js';
import { cancelWaitingTask } from './task/cancel-waiting-task.js';
import { countTasks } from './task/count-tasks.js';
import { listTaskRuns } from './task/list-task-runs.js';
import { listTasks } from './task/list-tasks.js';
import { countThreads } from './thread/count-threads.js';
import { createThread } from './thread/create-thread.js';
import { findThread } from './thread/find-thread.js';
import { findThreadHead } from './thread/find-thread-head.js';
import { findValues } from './thread/find-values.js';
import { getThread } from './thread/get-thread.js';
import { getThreadHead } from './thread/get-thread-head.js';
import { getThreadText } from './thread/get-thread-text.js';
import { listThreadIds } from './thread/list-thread-ids.js';
import { lockThread } from './thread/lock-thread.js';
import { patchThread } from './thread/patch-thread.js';
import { removeThread } from './thread/remove-thread.js';
import { removeThreads } from './thread/remove-threads.js';
import { ThreadWriter } from './thread/thread-writer.js';
import { searchThreads } from './thread/search-threads.js';
import { setThreadState } from './thread/set-thread-state.js';
import { WORKER } from './worker-scope.js';

const store = storeFixture();
const alice: CallerScope = { kind: 'caller', filter: sqlFilter({ owner: 'alice' }) };
const everyone: CallerScope = { kind: 'caller', filter: EVERY_ROW };
const PAGE = { limit: 1_000, offset: 0 };
const CRON_LIMITS = { maxCrons: 1_000, maxOfCaller: 1_000 };
const VECTORS = [{ field: '$', vector: new Float32Array([0.6, 0.8]) }];

/** Rows of one owner. */
interface Owned {
  readonly threadId: string;
  readonly assistantId: string;
  /** On the thread, at work. */
  readonly runId: string;
  /** On the thread, ended. */
  readonly endedRunId: string;
  /** An ended run of a task that waits, on a thread of its own; its assistant is `assistantId`. */
  readonly task: { readonly runId: string; readonly threadId: string };
  readonly item: ItemPlace;
  readonly itemId: string;
  /** Without a thread, ended; its webhook is due, as is that of `endedRunId`. */
  readonly calledRunId: string;
  readonly cronId: string;
  /** Without a thread, waiting. */
  readonly temporary: { readonly runId: string; readonly threadId: string };
}

async function rowsOf(owner: string): Promise<Owned> {
  const { sql, pool } = store;
  const metadata = { owner };
  const ended = await runAtWork(sql, metadata);
  const { runId: endedRunId, threadId } = ended;
  await pool.query(`UPDATE agentplane.runs SET status = 'success' WHERE run_id = $1`, [endedRunId]);
  const plain = storedRun({ threadId, metadata });
  const run = { ...plain, kwargs: { ...plain.kwargs, protocol: 'v2' as const } };
  await submitRun(WORKER, sql, serverOf('one'), run, queueing({ startsHere: true }));
  const temporary = storedRun({ isTemporary: true, metadata });
  await new TemporaryRuns(sql, serverOf('one'), systemClock).submit({
    scope: WORKER,
    run: temporary,
    queueing: queueing({ delayMs: 1_000_000 }),
  });
  const assistantId = newId();
  const assistant = { assistantId, graphId: 'graph', name: owner, description: undefined };
  const marked = { ...metadata, marked: assistantId };
  await createAssistant(WORKER, sql, { ...assistant, config: {}, context: {}, metadata: marked }, 'raise');
  const item = { namespace: ['of', newId()], key: 'item' };
  await putItem(WORKER, sql, { ...item, value: metadata, ttlMinutes: 60, vectors: VECTORS });
  const [found] = await searchItems(WORKER, sql, { prefix: item.namespace, filter: undefined }, PAGE);
  await setThreadTtl(WORKER, sql, threadId, { strategy: 'keep_latest', minutes: 60 });
  const cronId = newId();
  await createCron(WORKER, sql, cronWith(marked, cronId, assistantId), CRON_LIMITS);
  const calledRunId = newId();
  await pool.query(
    `INSERT INTO agentplane.webhooks (run_id, thread_id, temporary, metadata, url)
     VALUES ($1, $2, false, '{}', 'http://a/'), ($3, $3, true, $4, 'http://b/')`,
    [endedRunId, threadId, calledRunId, metadata],
  );
  return {
    ...{ threadId, assistantId, runId: run.runId, endedRunId, calledRunId, cronId, temporary },
    ...{ item, itemId: found?.itemId ?? '', task: await taskOf(owner, assistantId) },
  };
}

function cronWith(metadata: Readonly<Record<string, unknown>>, cronId = newId(), assistantId = newId()) {
  return {
    ...({
      cronId,
      assistantId,
      threadId: undefined,
      onRunCompleted: 'delete',
      schedule: '* * * * *',
    } as const),
    ...{
      timezone: undefined,
      endTime: undefined,
      isEnabled: true,
      payload: {},
      caller: {},
      userId: undefined,
    },
    ...{ metadata, nextRunDate: undefined },
  };
}

/** A task that waits for input. */
async function taskOf(owner: string, assistantId: string): Promise<Owned['task']> {
  const { sql, pool } = store;
  const { runId, threadId } = await runAtWork(sql, { owner });
  await pool.query(
    `UPDATE agentplane.runs SET status = 'success', assistant_id = $2, metadata = '{"a2a": {}}' WHERE run_id = $1`,
    [runId, assistantId],
  );
  await pool.query(`UPDATE agentplane.threads SET status = 'interrupted' WHERE thread_id = $1`, [threadId]);
  return { runId, threadId };
}

/** The whole database, to see that nothing of it changed. */
async function everyRow(): Promise<unknown> {
  const tables = [
    'assistants',
    'assistant_versions',
    'threads',
    'runs',
    'checkpoints',
    'checkpoint_blobs',
    'checkpoint_writes',
    'store_items',
    'store_vectors',
    'webhooks',
    'thread_ttls',
    'trace_erasures',
    'crons',
  ];
  const rows = await Promise.all(
    tables.map((table) => store.pool.query(`SELECT * FROM agentplane.${table} t ORDER BY t::text`)),
  );
  return rows.map((result) => result.rows);
}

/** What a statement answers, or the code of the error for the caller. */
async function answerOf(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PublicError) return error.code;
    throw error;
  }
}

/** Bare checkpoints, made without a graph. */
async function addCheckpoints(threadId: string, count: number): Promise<void> {
  await store.pool.query(
    `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
     SELECT $1, '', 'checkpoint-' || n, '{"channel_versions": {}}', '{}' FROM generate_series(1, $2::int) n`,
    [threadId, count],
  );
}

interface CallerStatement {
  /** Asks under a scope for rows of an owner. */
  readonly ask: (scope: Scope, owned: Owned) => Promise<unknown>;
  /** The answer when those rows do not exist. */
  readonly absent: unknown;
}

const { threadId: absentThread, runId: absentRun } = { threadId: newId(), runId: newId() };
const ABSENT: Owned = {
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
async function ordered(asked: Promise<void>, id: string): Promise<number> {
  await asked;
  const found = await store.pool.query('SELECT FROM agentplane.trace_erasures WHERE id = $1', [id]);
  return found.rowCount ?? 0;
}

const CALLER_STATEMENTS: Readonly<Record<string, CallerStatement>> = {
  findAssistant: {
    ask: (scope, { assistantId }) => findAssistant(scope, store.sql, assistantId),
    absent: undefined,
  },
  searchAssistants: {
    ask: async (scope, { assistantId }) => {
      const page = { ...PAGE, sortBy: 'created_at', isAscending: true } as const;
      const found = await searchAssistants(scope, store.sql, {}, page);
      return found.filter((assistant) => assistant.assistant_id === assistantId);
    },
    absent: [],
  },
  countAssistants: {
    ask: (scope, { assistantId }) => countAssistants(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  patchAssistant: {
    ask: (scope, { assistantId }) => patchAssistant(scope, store.sql, assistantId, { name: newId() }),
    absent: 'not_found',
  },
  listAssistantVersions: {
    ask: (scope, { assistantId }) =>
      listAssistantVersions(scope, store.sql, assistantId, { ...PAGE, metadata: undefined }),
    absent: [],
  },
  chooseAssistantVersion: {
    ask: (scope, { assistantId }) => chooseAssistantVersion(scope, store.sql, assistantId, 1),
    absent: undefined,
  },
  removeAssistant: {
    ask: (scope, { assistantId }) => removeAssistant(scope, store.sql, assistantId),
    absent: false,
  },
  findThread: { ask: (scope, { threadId }) => findThread(scope, store.sql, threadId), absent: undefined },
  getThread: { ask: (scope, { threadId }) => getThread(scope, store.sql, threadId), absent: 'not_found' },
  findThreadHead: {
    ask: (scope, { threadId }) => findThreadHead(scope, store.sql, threadId),
    absent: undefined,
  },
  getThreadHead: {
    ask: (scope, { threadId }) => getThreadHead(scope, store.sql, threadId),
    absent: 'not_found',
  },
  getThreadText: {
    ask: (scope, { threadId }) => getThreadText(scope, store.sql, threadId, {}),
    absent: 'not_found',
  },
  lockThread: {
    ask: (scope, { threadId }) =>
      store.sql.transaction(scope, (inside) => lockThread(scope, inside, threadId)),
    absent: 'not_found',
  },
  patchThread: {
    ask: (scope, { threadId }) => patchThread(scope, store.sql, threadId, { owner: 'alice' }),
    absent: 'not_found',
  },
  removeThread: {
    ask: (scope, { threadId }) => removeThread(scope, store.sql, threadId),
    absent: 'not_found',
  },
  removeThreads: {
    ask: async (scope, { threadId }) => (await removeThreads(WORKER, store.sql, [{ scope, threadId }])).size,
    absent: 0,
  },
  copyThread: {
    ask: (scope, { threadId }) =>
      copyThread(scope, store.sql, threadId, { thread_id: newId(), metadata: {} }),
    absent: 'not_found',
  },
  pruneThread: {
    ask: async (scope, { threadId }) => {
      await addCheckpoints(threadId, 2);
      const isPruned = await pruneThread(scope, store.sql, threadId);
      await store.pool.query('DELETE FROM agentplane.checkpoints WHERE thread_id = $1', [threadId]);
      return isPruned;
    },
    absent: false,
  },
  patchCheckpoint: {
    ask: async (scope, { threadId }) => {
      await addCheckpoints(threadId, 1);
      const isPatched = await patchCheckpoint(scope, store.sql, threadId, { a: 1 });
      await store.pool.query('DELETE FROM agentplane.checkpoints WHERE thread_id = $1', [threadId]);
      return isPatched;
    },
    absent: false,
  },
  searchThreads: {
    ask: (scope, { threadId }) =>
      searchThreads(
        scope,
        store.sql,
        { ids: [threadId] },
        { ...PAGE, sortBy: 'created_at', isAscending: true },
      ),
    absent: [],
  },
  countThreads: {
    ask: (scope, { threadId }) => countThreads(scope, store.sql, { ids: [threadId] }),
    absent: 0,
  },
  findObstacle: {
    ask: (scope, { temporary }) =>
      findObstacle(scope, store.sql, temporary.runId, { perAssistant: 0, perCaller: 0 }),
    absent: undefined,
  },
  listThreadIds: {
    ask: (scope, { threadId }) => listThreadIds(scope, store.sql, { ids: [threadId] }, 10),
    absent: [],
  },
  setThreadState: {
    ask: (scope, { threadId }) =>
      setThreadState(scope, store.sql, threadId, { values: '{}', status: 'idle', interrupts: {} }),
    absent: undefined,
  },
  hasActiveRun: { ask: (scope, { threadId }) => hasActiveRun(scope, store.sql, threadId), absent: false },
  submitRun: {
    ask: (scope, { threadId }) =>
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
    ask: async (scope, { threadId }) => {
      const submission = new ThreadSubmission(scope, storedRun({ threadId }), queueing());
      return (await submitRuns(WORKER, store.sql, serverOf('one'), [submission])).size;
    },
    absent: 0,
  },
  findRun: {
    ask: (scope, { runId, temporary }) =>
      Promise.all([findRun(scope, store.sql, runId), findRun(scope, store.sql, temporary.runId)]),
    absent: [undefined, undefined],
  },
  findRunHead: {
    ask: (scope, { runId, temporary }) =>
      Promise.all([findRunHead(scope, store.sql, runId), findRunHead(scope, store.sql, temporary.runId)]),
    absent: [undefined, undefined],
  },
  findValues: {
    ask: async (scope, { threadId }) => {
      const give = 'UPDATE agentplane.threads SET values = $2 WHERE thread_id = $1';
      await store.pool.query(give, [threadId, '{}']);
      const values = await findValues(scope, store.sql, threadId);
      await store.pool.query(give, [threadId, null]);
      return values;
    },
    absent: undefined,
  },
  findCron: { ask: (scope, { cronId }) => findCron(scope, store.sql, cronId), absent: undefined },
  searchCrons: {
    ask: (scope, { assistantId }) =>
      searchCrons(scope, store.sql, { assistantId }, { ...PAGE, sortBy: 'created_at', isAscending: true }),
    absent: [],
  },
  countCrons: {
    ask: (scope, { assistantId }) => countCrons(scope, store.sql, { metadata: { marked: assistantId } }),
    absent: 0,
  },
  changeCron: {
    ask: (scope, { cronId }) => changeCron(scope, store.sql, cronId, cronWith({ owner: 'alice' })),
    absent: 'not_found',
  },
  removeCron: { ask: (scope, { cronId }) => removeCron(scope, store.sql, cronId), absent: false },
  findThreadTtl: {
    ask: (scope, { threadId }) => findThreadTtl(scope, store.sql, threadId),
    absent: undefined,
  },
  setThreadTtl: {
    ask: (scope, { threadId }) =>
      setThreadTtl(scope, store.sql, threadId, { strategy: 'delete', minutes: 5 }),
    absent: false,
  },
  findWebhook: {
    ask: (scope, { endedRunId, calledRunId }) =>
      Promise.all([endedRunId, calledRunId].map((runId) => findWebhook(scope, store.sql, runId))),
    absent: [undefined, undefined],
  },
  listActiveRuns: {
    ask: (scope, { threadId }) => listActiveRuns(scope, store.sql, 'running', threadId),
    absent: [],
  },
  findRunPlace: {
    ask: (scope, { threadId }) => findRunPlace(scope, store.sql, threadId),
    absent: undefined,
  },
  listThreadRuns: {
    ask: async (scope, { threadId }) => {
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
    ask: (scope, { threadId }) => listRuns(scope, store.sql, threadId, { ...PAGE, status: undefined }),
    absent: [],
  },
  cancelRun: {
    ask: async (scope, { runId, threadId, temporary }) => [
      await cancelRun(scope, store.sql, runId, threadId, 'rollback'),
      await cancelRun(scope, store.sql, temporary.runId, temporary.threadId, 'rollback'),
    ],
    absent: ['no_run', 'no_run'],
  },
  listTaskRuns: {
    ask: (scope, { task, assistantId }) => listTaskRuns(scope, store.sql, task.runId, assistantId),
    absent: [],
  },
  listTasks: {
    ask: (scope, { assistantId }) =>
      listTasks(scope, store.sql, taskSearch(assistantId), { limit: 10, after: undefined }),
    absent: { runs: [], hasMore: false },
  },
  countTasks: {
    ask: (scope, { assistantId }) => countTasks(scope, store.sql, taskSearch(assistantId)),
    absent: 0,
  },
  cancelWaitingTask: {
    ask: (scope, { task }) => cancelWaitingTask(scope, store.sql, task.runId, task.threadId),
    absent: false,
  },
  eraseThreadTraces: {
    ask: (scope, { threadId }) => ordered(eraseThreadTraces(scope, store.sql, threadId), threadId),
    absent: 0,
  },
  eraseRunTrace: {
    ask: (scope, { endedRunId }) => ordered(eraseRunTrace(scope, store.sql, endedRunId), endedRunId),
    absent: 0,
  },
  listTemporaryRuns: {
    ask: async (scope, { temporary: { runId } }) =>
      (await listTemporaryRuns(scope, store.sql, {})).filter((id) => id === runId),
    absent: [],
  },
  removeTemporaryRun: {
    ask: (scope, { temporary: { runId } }) => removeTemporaryRun(scope, store.sql, runId),
    absent: false,
  },
  removeCrons: {
    ask: (scope, { assistantId }) => removeCrons(scope, store.sql, { marked: assistantId }),
    absent: 0,
  },
  removeWebhook: {
    ask: (scope, { calledRunId }) => removeWebhook(scope, store.sql, calledRunId),
    absent: false,
  },
  removeRun: {
    ask: (scope, { endedRunId, threadId }) => removeRun(scope, store.sql, endedRunId, threadId),
    absent: false,
  },
};

const ITEM_STATEMENTS: Readonly<Record<string, CallerStatement>> = {
  getItem: { ask: (scope, { item }) => getItem(scope, store.sql, item, true), absent: undefined },
  removeItem: { ask: (scope, { item }) => removeItem(scope, store.sql, item), absent: false },
  removeItems: { ask: (scope, { item }) => removeItems(scope, store.sql, item.namespace, 5), absent: 0 },
  countItems: { ask: (scope, { item }) => countItems(scope, store.sql, item.namespace), absent: 0 },
  searchItems: {
    ask: (scope, { item }) =>
      searchItems(scope, store.sql, { prefix: item.namespace, filter: undefined }, PAGE),
    absent: [],
  },
  listItems: { ask: (scope, { itemId }) => listItems(scope, store.sql, [itemId]), absent: [] },
  listEmbeddedItems: {
    ask: (scope, { item }) =>
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
    ask: (scope, { itemId }) => readVectors(scope, store.sql, [itemId], 2),
    absent: [],
  },
  refreshItems: {
    ask: (scope, { itemId }) => refreshItems(scope, store.sql, [itemId]),
    absent: undefined,
  },
  listNamespaces: {
    ask: (scope, { item: { namespace } }) =>
      listNamespaces(scope, store.sql, { prefix: namespace, suffix: [], maxDepth: undefined, ...PAGE }),
    absent: [],
  },
};
const STATEMENTS = { ...CALLER_STATEMENTS, ...ITEM_STATEMENTS };

/** For a database with pgvector, which this one has not. */
const VECTOR_STATEMENTS = ['rankItems'];

/** Statements that make a row, and the one that explains why a row was not made: tested by themselves below. */
const MAKING_STATEMENTS = [
  'createCron',
  'createAssistant',
  'createThread',
  'createThreads',
  'putItem',
  'submitTemporaryRuns',
  'requireAdmitted',
];

/** Statements of the server's own work: their types take no other scope. */
const WORKER_STATEMENTS = [
  'appendRunEvents',
  'claimCron',
  'claimExpiredThreads',
  'claimLimitedRuns',
  'claimRuns',
  'readInput',
  'readWebhook',
  'claimTraceErasures',
  'claimWebhooks',
  'countQueuedRuns',
  'countRunLoad',
  'countTraceErasures',
  'databaseTime',
  'delayTraceErasures',
  'endCalledRun',
  'endTemporaryRuns',
  'endTraceErasures',
  'ensureSystemAssistant',
  'ensureVectorType',
  'findCancel',
  'findLastEvent',
  'finishRun',
  'finishRuns',
  'getContextKey',
  'handBackRuns',
  'hasVectorType',
  'listNewestPlaces',
  'listRunStates',
  'listWornOutRuns',
  'markStreamed',
  'notifyPending',
  'notifyPosition',
  'notifyThreads',
  'putCheckpoint',
  'putStates',
  'putWrites',
  'readRunEvents',
  'renewLeases',
  'restThreadTtl',
  'retryRun',
  'setDefaultTtl',
  'settleCron',
  'settleWebhook',
  'sweepItems',
  'sweepRunEvents',
  'sweepWebhooks',
  'takeOverRuns',
  'watchRun',
];

/** Every function that a conversation with the database exports. */
async function exportedStatements(): Promise<string[]> {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name !== 'row',
  );
  const files = folders.flatMap(({ name }) =>
    readdirSync(join(import.meta.dirname, name))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
      .map((file) => `./${name}/${file.replace(/\.ts$/, '.js')}`),
  );
  const modules = await Promise.all(files.map((file): Promise<object> => import(file)));
  return modules
    .flatMap((module) => Object.entries(module))
    .filter(([, exported]) => typeof exported === 'function' && !/^class\b/.test(String(exported)))
    .map(([name]) => name);
}

describe('the statements of the store', () => {
  it('names every exported statement of the store in this file', async () => {
    const named = [
      ...Object.keys(STATEMENTS),
      ...MAKING_STATEMENTS,
      ...VECTOR_STATEMENTS,
      ...WORKER_STATEMENTS,
    ];
    expect((await exportedStatements()).sort()).toEqual(named.sort());
  });

  it('fail when they leave the filter of the scope out', async () => {
    const forgetful = store.sql.inScope(alice, {
      text: 'SELECT 1 FROM agentplane.threads WHERE thread_id = $2',
      values: [newId()],
    });
    await expect(forgetful).rejects.toThrow('could not determine data type of parameter $1');
  });
});

describe.each(Object.entries(STATEMENTS))('%s', (_name, { ask, absent }) => {
  it('treats rows of another owner as if they did not exist', async () => {
    const bobs = await rowsOf('bob');
    const before = await everyRow();
    expect(await answerOf(ask(alice, ABSENT))).toEqual(absent);
    expect(await answerOf(ask(alice, bobs))).toEqual(absent);
    expect(await everyRow()).toEqual(before);
  });

  it('reaches rows of its owner, and every row with a filter that lets all through', async () => {
    for (const scope of [alice, everyone, WORKER]) {
      const alices = await rowsOf('alice');
      const before = await everyRow();
      const answer = await answerOf(ask(scope, alices));
      // what answers nothing changes rows
      expect([answer, absent === undefined && (await everyRow())]).not.toEqual([absent, before]);
      if (absent !== undefined) expect(answer).not.toEqual(absent);
    }
  });
});

describe('a new row', () => {
  const assistantWith = (metadata: Record<string, unknown>, assistantId = newId()) => ({
    assistantId,
    graphId: 'graph',
    name: 'mine',
    description: undefined,
    config: {},
    context: {},
    metadata,
  });

  it('makes a new row inside the scope only', async () => {
    const { sql } = store;
    const [mine, theirs] = [{ owner: 'alice' }, { owner: 'bob' }];
    const before = await everyRow();
    expect(await answerOf(createThread(alice, sql, newId(), theirs, 'raise'))).toBe('forbidden');
    const threads = new ThreadWriter(sql);
    expect(await answerOf(threads.create(alice, newId(), theirs))).toBe('forbidden');
    expect(await answerOf(createCron(alice, sql, cronWith(theirs), CRON_LIMITS))).toBe('forbidden');
    expect(await answerOf(createAssistant(alice, sql, assistantWith(theirs), 'raise'))).toBe('forbidden');
    expect(await answerOf(requireAdmitted(alice, sql, theirs, 'Thread'))).toBe('forbidden');
    const onNewThread = queueing({ newThread: theirs });
    expect(await answerOf(submitRun(alice, sql, serverOf('one'), storedRun(), onNewThread))).toBe(
      'forbidden',
    );
    const item = { namespace: ['a'], key: newId(), ttlMinutes: undefined, vectors: [] };
    expect(await answerOf(putItem(alice, sql, { ...item, value: theirs }))).toBe('forbidden');
    expect(await everyRow()).toEqual(before);
    expect(await answerOf(putItem(alice, sql, { ...item, value: mine }))).toBeUndefined();
    expect(await answerOf(putItem(alice, sql, { ...item, value: theirs }))).toBe('forbidden');
    expect(await getItem(alice, sql, item, false)).toMatchObject({ value: mine });
    const run = storedRun();
    await submitRun(alice, sql, serverOf('one'), run, queueing({ newThread: mine }));
    expect(await findThread(alice, sql, run.threadId)).toMatchObject({ metadata: mine });
    expect(await createThread(alice, sql, newId(), mine, 'raise')).toMatchObject({ metadata: mine });
    expect(await threads.create(alice, newId(), mine)).toMatchObject({ metadata: mine });
    expect(await createCron(alice, sql, cronWith(mine), CRON_LIMITS)).toMatchObject({ metadata: mine });
    expect(await createAssistant(alice, sql, assistantWith(mine), 'raise')).toMatchObject({ metadata: mine });
    expect(await answerOf(requireAdmitted(alice, sql, mine, 'Thread'))).toBeUndefined();
  });

  it('does not show or replace a row of another owner with the same id', async () => {
    const { sql } = store;
    const bobs = await rowsOf('bob');
    const before = await everyRow();
    const mine = { owner: 'alice' };
    for (const ifExists of ['raise', 'do_nothing'] as const) {
      expect(await answerOf(createThread(alice, sql, bobs.threadId, mine, ifExists))).toBe('conflict');
      const assistant = assistantWith(mine, bobs.assistantId);
      expect(await answerOf(createAssistant(alice, sql, assistant, ifExists))).toBe('conflict');
    }
    const item = { ...bobs.item, value: mine, ttlMinutes: undefined, vectors: [] };
    expect(await answerOf(putItem(alice, sql, item))).toBe('conflict');
    expect(await everyRow()).toEqual(before);
  });

  it('judges each row by its own scope when many share a statement', async () => {
    const runs = new TemporaryRuns(store.sql, serverOf('one'), systemClock);
    const submit = (scope: Scope, owner: string) =>
      answerOf(
        runs.submit({
          scope,
          run: storedRun({ isTemporary: true, metadata: { owner } }),
          queueing: queueing(),
        }),
      );
    const made = { status: 'pending', createdAt: expect.any(Date) };
    expect(
      await Promise.all([
        submit(alice, 'alice'),
        submit(alice, 'bob'),
        submit(everyone, 'bob'),
        submit(WORKER, 'x'),
      ]),
    ).toEqual([made, 'forbidden', made, made]);
  });

  it('cannot leave its scope by a change', async () => {
    const { threadId, assistantId } = await rowsOf('alice');
    const bobs = { metadata: { owner: 'bob' } };
    expect(await answerOf(patchAssistant(alice, store.sql, assistantId, bobs))).toBe('forbidden');
    expect(await answerOf(patchThread(alice, store.sql, threadId, { owner: 'bob' }))).toBe('forbidden');
    expect(await findThread(alice, store.sql, threadId)).toMatchObject({ metadata: { owner: 'alice' } });
  });
});

describe('the assistant of a graph', () => {
  it('shows the assistant of a graph to every caller, and lets only a caller whose filter permits it remove it', async () => {
    const { sql, pool } = store;
    const { assistantId } = await rowsOf('carol');
    await pool.query('UPDATE agentplane.assistants SET system = true WHERE assistant_id = $1', [assistantId]);
    expect(await findAssistant(alice, sql, assistantId)).toBeDefined();
    expect(await removeAssistant(alice, sql, assistantId)).toBe(false);
  });
});

describe('the checkpoints of an open thread', () => {
  it('reads the checkpoints of the open thread alone', async () => {
    const [mine, theirs] = [await rowsOf('alice'), await rowsOf('bob')];
    const saver = new ThreadSaver(store.sql.poolOfCheckpointer(WORKER), mine.threadId);
    const config = { configurable: { thread_id: theirs.threadId } };
    await expect(saver.getTuple(config)).rejects.toThrow(mine.threadId);
    await expect(saver.list({ configurable: {} }).next()).rejects.toThrow(mine.threadId);
    await expect(saver.putWrites(config, [], 'task')).rejects.toThrow(mine.threadId);
    await expect(saver.deleteThread()).rejects.toThrow('cannot delete');
    expect(await saver.getTuple({ configurable: { thread_id: mine.threadId } })).toBeUndefined();
  });
});
