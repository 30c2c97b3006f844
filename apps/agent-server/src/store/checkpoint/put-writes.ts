import { FENCE, type Fence } from '../row/fence.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** One write of a task, serialised. */
export interface DumpedWrite {
  readonly idx: number;
  readonly channel: string;
  readonly type: string;
  readonly blob: Buffer;
}

export interface DumpedWrites {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  /** Place of the task among those of its step, by which LangGraph for Python replays writes; '' where it is unknown. */
  readonly taskPath: string;
  /** An existing write of the same place is replaced, not kept. */
  readonly replaces: boolean;
  readonly writes: readonly DumpedWrite[];
}

/** Place of the error among the writes of a task: `WRITES_IDX_MAP` of the library, which the server does not load. */
export const ERROR_IDX = -1;

/** A task that failed has no writes: its stored writes of the step were not applied. */
const DROP = `dropped AS (
  DELETE FROM agentplane.checkpoint_writes o USING fence WHERE o.thread_id = $3 AND o.checkpoint_ns = $4
    AND o.checkpoint_id = $5 AND o.task_id = $6 AND o.idx >= 0 AND ${ERROR_IDX} = ANY ($7::int[])), `;

function statement(onConflict: string, before = ''): string {
  return `
WITH ${FENCE}, ${before}writes AS (
  INSERT INTO agentplane.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, run_id, task_path)
  SELECT $3, $4, $5, $6, w.*, $1, $11 FROM fence, unnest($7::int[], $8::text[], $9::text[], $10::bytea[]) AS w(idx, channel, type, blob)
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict})
SELECT 1 FROM fence`;
}

const INSERT = statement('DO NOTHING');
const UPSERT = statement(
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob, run_id = EXCLUDED.run_id',
  DROP,
);

/** Keeps writes of a task beside its checkpoint; answers false when another attempt has the run. */
export async function putWrites(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Fence,
  { writes, ...dumped }: DumpedWrites,
): Promise<boolean> {
  const { rowCount } = await sql.asWorker(scope, {
    name: dumped.replaces ? 'upsert-writes' : 'insert-writes',
    text: dumped.replaces ? UPSERT : INSERT,
    values: [
      runId,
      attempt,
      dumped.threadId,
      dumped.namespace,
      dumped.checkpointId,
      dumped.taskId,
      writes.map((write) => write.idx),
      writes.map((write) => write.channel),
      writes.map((write) => write.type),
      writes.map((write) => write.blob),
      dumped.taskPath,
    ],
  });
  return rowCount !== 0;
}
