import type { JsonObject } from '#lib/json';
import { fitsRow, tooLarge, jsonbText } from '../json-text.js';
import { ancestorWalk } from '../row/checkpoint-place.js';
import { type Scope, type WorkerScope, visible } from '../scope.js';
import type { Sql } from '../sql.js';

/** Search for checkpoints of one namespace of a thread. */
export interface CheckpointSearch {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId?: string | undefined;
  readonly beforeId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly limit: number;
}

/** A checkpoint with everything that belongs to it, serialised. */
export interface FoundCheckpoint {
  readonly checkpointId: string;
  readonly parentId: string | null;
  /** JSON texts. */
  readonly checkpoint: string;
  readonly metadata: string;
  readonly blobs: readonly { readonly channel: string; readonly type: string; readonly bytes: Buffer }[];
  readonly writes: readonly {
    readonly taskId: string;
    readonly channel: string;
    readonly type: string;
    readonly bytes: Buffer;
  }[];
}

interface Row {
  readonly checkpoint_id: string;
  readonly parent_checkpoint_id: string | null;
  readonly checkpoint: string;
  readonly metadata: string;
  readonly blob_channels: readonly string[] | null;
  readonly blob_types: readonly string[] | null;
  readonly blobs: readonly Buffer[] | null;
  readonly tasks: readonly string[] | null;
  readonly write_channels: readonly string[] | null;
  readonly write_types: readonly string[] | null;
  readonly writes: readonly Buffer[] | null;
}

/** The order in which a step applies the writes of its tasks (`writes_sort_key` of LangGraph for Python). */
const IN_STEP = 'x.task_path COLLATE "C", x.task_id COLLATE "C", x.idx';

const FIND_CHECKPOINTS = `
SELECT c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint::text AS checkpoint, c.metadata::text AS metadata, b.*, w.*
FROM agentplane.checkpoints c
CROSS JOIN LATERAL (
  SELECT array_agg(v.channel) AS blob_channels, array_agg(v.type) AS blob_types, array_agg(v.blob) AS blobs
  FROM jsonb_each_text(c.checkpoint -> 'channel_versions') AS known(channel, version)
  JOIN agentplane.checkpoint_blobs v ON v.thread_id = c.thread_id AND v.checkpoint_ns = c.checkpoint_ns
    AND v.channel = known.channel AND v.version = known.version AND v.type <> 'empty') b
CROSS JOIN LATERAL (
  SELECT array_agg(x.task_id ORDER BY ${IN_STEP}) AS tasks, array_agg(x.channel ORDER BY ${IN_STEP}) AS write_channels,
    array_agg(x.type ORDER BY ${IN_STEP}) AS write_types, array_agg(x.blob ORDER BY ${IN_STEP}) AS writes
  FROM agentplane.checkpoint_writes x
  WHERE x.thread_id = c.thread_id AND x.checkpoint_ns = c.checkpoint_ns AND x.checkpoint_id = c.checkpoint_id) w
WHERE c.thread_id = $1 AND c.checkpoint_ns = $2 AND ($3::text IS NULL OR c.checkpoint_id = $3)
  AND ($4::text IS NULL OR c.checkpoint_id < $4) AND c.metadata @> $5::jsonb
ORDER BY c.checkpoint_id DESC LIMIT $6`;

/** Checkpoints as they are stored, newest first. */
export async function findCheckpoints(
  scope: WorkerScope,
  sql: Sql,
  { threadId, namespace, checkpointId, beforeId, metadata, limit }: CheckpointSearch,
): Promise<readonly FoundCheckpoint[]> {
  const { rows } = await sql.asWorker<Row & Record<string, unknown>>(scope, {
    name: 'find-checkpoints',
    text: FIND_CHECKPOINTS,
    values: [threadId, namespace, checkpointId ?? null, beforeId ?? null, jsonbText(metadata ?? {}), limit],
  });
  return rows.map((row) => ({
    checkpointId: row.checkpoint_id,
    parentId: row.parent_checkpoint_id,
    checkpoint: row.checkpoint,
    metadata: row.metadata,
    blobs: (row.blobs ?? []).map((bytes, at) => ({
      channel: row.blob_channels?.[at] ?? '',
      type: row.blob_types?.[at] ?? '',
      bytes,
    })),
    writes: (row.writes ?? []).map((bytes, at) => ({
      taskId: row.tasks?.[at] ?? '',
      channel: row.write_channels?.[at] ?? '',
      type: row.write_types?.[at] ?? '',
      bytes,
    })),
  }));
}

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
const FIND_HISTORY = `WITH RECURSIVE ${ancestorWalk(START, '$4::text[]')}, parts AS (
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
    text: FIND_HISTORY,
    values: [threadId, namespace, checkpointId ?? null, channels],
  });
  return rows;
}

/**
 * Merges metadata into the last checkpoint of a thread; answers true when there is one.
 * @throws PublicError `too_large`
 */
export async function patchCheckpoint(
  scope: Scope,
  sql: Sql,
  threadId: string,
  metadata: JsonObject,
): Promise<boolean> {
  const { rows } = await sql.inScope<{ fits: boolean }>(scope, {
    text: `WITH last AS (
        SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.metadata || $3::jsonb AS merged
        FROM agentplane.checkpoints c
        WHERE c.thread_id = $2::text AND c.checkpoint_ns = '' AND c.checkpoint_id = (
            SELECT max(l.checkpoint_id) FROM agentplane.checkpoints l
            WHERE l.thread_id = $2::text AND l.checkpoint_ns = '')
          AND EXISTS (SELECT 1 FROM agentplane.threads t WHERE t.thread_id = $2::text::uuid AND ${visible('t.metadata')})
        FOR UPDATE),
      changed AS (
        UPDATE agentplane.checkpoints c SET metadata = last.merged FROM last
        WHERE c.thread_id = last.thread_id AND c.checkpoint_ns = last.checkpoint_ns
          AND c.checkpoint_id = last.checkpoint_id AND ${fitsRow('last.merged')})
      SELECT ${fitsRow('last.merged')} AS fits FROM last`,
    values: [threadId, jsonbText(metadata)],
  });
  if (rows[0]?.fits === false) throw tooLarge(`The last checkpoint of thread ${threadId}`);
  return rows.length === 1;
}
