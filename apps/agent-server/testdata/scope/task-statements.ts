import {
  cancelWaitingTask,
  countTasks,
  findInputId,
  findRunStart,
  listTaskRuns,
  listTasks,
} from '../../src/store/statement/tasks.js';
import { listPushes, removePush, setPush } from '../../src/store/statement/task-pushes.js';
import { findToolRun } from '../../src/store/statement/tool-runs.js';
import { pushOf } from '../owned-rows.js';
import type { CallerStatements } from './caller-statement.js';

function taskSearch(assistantId: string) {
  return { assistantId, contextId: undefined, state: undefined, since: undefined };
}

/** Statements about tasks. */
export const TASK_STATEMENTS: CallerStatements = {
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
  findRunStart: {
    ask: async (scope, { threadId, runId }, store) => {
      await store.pool.query(
        `INSERT INTO agentplane.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
          VALUES ($1, 'b', 'a', '{}', jsonb_build_object('run_id', $2::text))`,
        [threadId, runId],
      );
      const start = await findRunStart(scope, store.sql, threadId, runId);
      await store.pool.query('DELETE FROM agentplane.checkpoints WHERE thread_id = $1', [threadId]);
      return start;
    },
    absent: undefined,
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
  findToolRun: {
    ask: (scope, { task }, store) => findToolRun(scope, store.sql, task.runId),
    absent: undefined,
  },
  listPushes: {
    ask: (scope, { task }, store) => listPushes(scope, store.sql, task.runId),
    absent: [],
  },
  setPush: {
    ask: (scope, { task, assistantId }, store) =>
      setPush(scope, store.sql, pushOf(task.runId, task.threadId, assistantId), { catchesUp: true }),
    absent: false,
  },
  removePush: {
    ask: (scope, { task }, store) => removePush(scope, store.sql, { taskId: task.runId, configId: 'held' }),
    absent: false,
  },
};
