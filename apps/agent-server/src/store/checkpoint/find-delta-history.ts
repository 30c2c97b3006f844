import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { ancestorWalk } from '../row/ancestor-walk.js';
import { IN_STEP } from './find-checkpoints.js';

/** Channels of a checkpoint whose values are stored as changes. */
export interface DeltaSearch {
  readonly threadId: string;
  readonly namespace: string;
  /** Undefined: the newest. */
  readonly checkpointId?: string | undefined;
  readonly channels: readonly string[];
}

/** A value that an ancestor stores, or a write since, serialised. */
export interface DeltaPart {
  readonly channel: string;
  /** Null for a stored value. */
  readonly taskId: string | null;
  readonly type: string;
  readonly bytes: Buffer;
}

const START = `c.thread_id = $1 AND c.checkpoint_ns = $2 AND c.checkpoint_id = coalesce($3,
  (SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l WHERE l.thread_id = $1 AND l.checkpoint_ns = $2))`;

/** A stored value comes before the writes of its own checkpoint: these were made from it. */
const FIND = `WITH RECURSIVE ${ancestorWalk(START, '$4::text[]')}, parts AS (
  SELECT w.depth, b.channel, '' AS task_path, NULL AS task_id, -1 AS idx, b.type, b.blob FROM walk w, unnest(w.wanted) k
  JOIN agentplane.checkpoint_blobs b ON b.thread_id = $1 AND b.checkpoint_ns = $2 AND b.channel = k
  WHERE b.version = w.versions ->> k AND b.type <> 'empty'
  UNION ALL
  SELECT w.depth, x.channel, x.task_path, x.task_id, x.idx, x.type, x.blob FROM walk w
  JOIN agentplane.checkpoint_writes x ON x.thread_id = $1 AND x.checkpoint_ns = $2
    AND x.checkpoint_id = w.checkpoint_id AND x.channel = ANY (w.wanted))
SELECT channel, task_id AS "taskId", type, blob AS bytes FROM parts x
ORDER BY depth DESC, x.task_id IS NOT NULL, ${IN_STEP}`;

/** Finds the parts of channels, oldest first: the last stored value, if it exists, and all writes since. */
export async function findDeltaHistory(
  scope: WorkerScope,
  sql: Sql,
  { threadId, namespace, checkpointId, channels }: DeltaSearch,
): Promise<readonly DeltaPart[]> {
  const { rows } = await sql.asWorker<DeltaPart>(scope, {
    name: 'find-delta-history',
    text: FIND,
    values: [threadId, namespace, checkpointId ?? null, channels],
  });
  return rows;
}
