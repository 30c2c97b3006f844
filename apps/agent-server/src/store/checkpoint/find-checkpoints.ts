import type { JsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import type { WorkerScope } from '../scope.js';
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
export const IN_STEP = 'x.task_path COLLATE "C", x.task_id COLLATE "C", x.idx';

const FIND = `
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
    text: FIND,
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
