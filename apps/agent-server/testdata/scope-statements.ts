import { newId } from './store-fixture.js';
import type { Owned } from './owned-rows.js';
import { ASSISTANT_STATEMENTS } from './scope/assistant-statements.js';
import { THREAD_STATEMENTS } from './scope/thread-statements.js';
import { RUN_STATEMENTS } from './scope/run-statements.js';
import { CRON_STATEMENTS } from './scope/cron-statements.js';
import { TASK_STATEMENTS } from './scope/task-statements.js';
import { ITEM_STATEMENTS } from './scope/item-statements.js';

const { threadId: absentThread, runId: absentRun } = { threadId: newId(), runId: newId() };
/** Rows that do not exist. */
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

/** Every statement that takes the scope of a caller, by its name. */
export const SCOPE_STATEMENTS = {
  ...ASSISTANT_STATEMENTS,
  ...THREAD_STATEMENTS,
  ...RUN_STATEMENTS,
  ...CRON_STATEMENTS,
  ...TASK_STATEMENTS,
  ...ITEM_STATEMENTS,
};
