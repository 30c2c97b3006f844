import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { DumpedCheckpoint } from './put-checkpoint.js';
import type { DumpedWrites } from './put-writes.js';

const PUT_CHECKPOINT = `
WITH blobs AS (
  INSERT INTO agentplane.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  SELECT $1, $2, b.* FROM unnest($3::text[], $4::text[], $5::text[], $6::bytea[]) AS b(channel, version, type, blob)
  ON CONFLICT DO NOTHING)
INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
VALUES ($1, $2, $7, $8, $9::jsonb, $10::jsonb)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata`;

/** Keeps a checkpoint that no run made: a change of a state from outside holds its thread. */
export async function putThreadCheckpoint(
  scope: WorkerScope,
  sql: Sql,
  { blobs, ...dumped }: DumpedCheckpoint,
): Promise<void> {
  await sql.asWorker(scope, {
    name: 'put-thread-checkpoint',
    text: PUT_CHECKPOINT,
    values: [
      dumped.threadId,
      dumped.namespace,
      blobs.map((blob) => blob.channel),
      blobs.map((blob) => blob.version),
      blobs.map((blob) => blob.type),
      blobs.map((blob) => blob.bytes),
      dumped.checkpointId,
      dumped.parentId ?? null,
      dumped.checkpoint,
      dumped.metadata,
    ],
  });
}

function statement(onConflict: string): string {
  return `
INSERT INTO agentplane.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
SELECT $1, $2, $3, $4, w.*, $9 FROM unnest($5::int[], $6::text[], $7::text[], $8::bytea[]) AS w(idx, channel, type, blob)
ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}`;
}

const INSERT = statement('DO NOTHING');
const UPSERT = statement(
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob',
);

/** Keeps writes of a task that no run made. */
export async function putThreadWrites(
  scope: WorkerScope,
  sql: Sql,
  { writes, ...dumped }: DumpedWrites,
): Promise<void> {
  await sql.asWorker(scope, {
    name: dumped.replaces ? 'upsert-thread-writes' : 'insert-thread-writes',
    text: dumped.replaces ? UPSERT : INSERT,
    values: [
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
}
