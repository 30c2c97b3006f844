import { eraseRunTrace, eraseThreadTraces } from '../../src/store/statement/trace-erasures.js';
import { ThreadSubmission } from '../../src/store/row/run-row.js';
import { cancelRun } from '../../src/store/statement/finish-run.js';
import { findObstacle } from '../../src/store/statement/claim-runs.js';
import {
  findRun,
  findRunHead,
  findRunPlace,
  hasActiveRun,
  listActiveRuns,
  listRuns,
  listTemporaryRuns,
  listThreadRuns,
  removeRun,
  removeTemporaryRun,
} from '../../src/store/statement/runs.js';
import { submitRun, submitRuns } from '../../src/store/statement/submit-run.js';
import { findWebhook, removeWebhook } from '../../src/store/statement/webhooks.js';
import { WORKER } from '../../src/store/worker-scope.js';
import { queueing, serverOf, storedRun, type StoreFixture } from '../store-fixture.js';
import { type CallerStatements, PAGE } from './caller-statement.js';

/** How many deletions of traces were ordered under this id. */
async function ordered(store: StoreFixture, asked: Promise<void>, id: string): Promise<number> {
  await asked;
  const found = await store.pool.query('SELECT FROM agentplane.trace_erasures WHERE id = $1', [id]);
  return found.rowCount ?? 0;
}

/** Statements about runs. */
export const RUN_STATEMENTS: CallerStatements = {
  findObstacle: {
    ask: (scope, { temporary }, store) =>
      findObstacle(scope, store.sql, temporary.runId, { perAssistant: 0, perCaller: 0 }),
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
  removeWebhook: {
    ask: (scope, { calledRunId }, store) => removeWebhook(scope, store.sql, calledRunId),
    absent: false,
  },
  removeRun: {
    ask: (scope, { endedRunId, threadId }, store) => removeRun(scope, store.sql, endedRunId, threadId),
    absent: false,
  },
};
