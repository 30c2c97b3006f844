import { systemClock } from '#lib/time';
import { newId, queueing, runAtWork, serverOf, storedRun, type StoreFixture } from './store-fixture.js';
import { TemporaryRuns } from '../src/run/thread-runs.js';
import { createAssistant } from '../src/store/statement/assistants.js';
import { setThreadTtl } from '../src/store/statement/threads.js';
import { createCron } from '../src/store/statement/crons.js';
import { setPush, type StoredPush } from '../src/store/statement/task-pushes.js';
import { submitRun } from '../src/store/statement/submit-run.js';
import type { ItemPlace } from '../src/store/row/item-row.js';
import { putItem, searchItems } from '../src/store/statement/items.js';
import { WORKER } from '../src/store/worker-scope.js';

const PAGE = { limit: 1_000, offset: 0 };
export const CRON_LIMITS = { maxCrons: 1_000, maxOfCaller: 1_000 };
const VECTORS = [{ field: '$', vector: new Float32Array([0.6, 0.8]) }];

/** Rows of one owner. */
export interface Owned {
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

export async function rowsOf(store: StoreFixture, owner: string): Promise<Owned> {
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
    threadId,
    assistantId,
    runId: run.runId,
    endedRunId,
    calledRunId,
    cronId,
    temporary,
    item,
    itemId: found?.itemId ?? '',
    task: await taskOf(store, owner, assistantId),
  };
}

export function cronWith(
  metadata: Readonly<Record<string, unknown>>,
  cronId = newId(),
  assistantId = newId(),
) {
  return {
    ...({
      cronId,
      assistantId,
      threadId: undefined,
      onRunCompleted: 'delete',
      schedule: '* * * * *',
    } as const),
    timezone: undefined,
    endTime: undefined,
    isEnabled: true,
    payload: {},
    caller: {},
    userId: undefined,
    metadata,
    nextRunDate: undefined,
  };
}

/** A receiver of notifications about a task. */
export function pushOf(taskId: string, threadId: string, assistantId: string): StoredPush {
  const secrets = { token: 'token', scheme: undefined, credentials: undefined };
  return { taskId, configId: 'held', threadId, assistantId, wire: '1.0', url: 'http://c/', ...secrets };
}

/** A task that waits for input, has a receiver of notifications and is a task of MCP too. */
async function taskOf(
  { sql, pool }: StoreFixture,
  owner: string,
  assistantId: string,
): Promise<Owned['task']> {
  const { runId, threadId } = await runAtWork(sql, { owner });
  await pool.query(
    `UPDATE agentplane.runs SET status = 'success', assistant_id = $2, metadata = '{"a2a": {}, "mcp": {}}' WHERE run_id = $1`,
    [runId, assistantId],
  );
  await pool.query(`UPDATE agentplane.threads SET status = 'interrupted' WHERE thread_id = $1`, [threadId]);
  await setPush(WORKER, sql, pushOf(runId, threadId, assistantId), { catchesUp: false });
  return { runId, threadId };
}
