import { FENCE, type Fence } from '../row/fence.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** One value of a channel, serialised. */
export interface DumpedBlob {
  readonly channel: string;
  readonly version: string;
  readonly type: string;
  readonly bytes: Buffer | null;
}

export interface DumpedCheckpoint {
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  /** JSON text. */
  readonly checkpoint: string;
  /** JSON text. */
  readonly metadata: string;
  readonly blobs: readonly DumpedBlob[];
}

const PUT = `
WITH ${FENCE}, blobs AS (
  INSERT INTO agentplane.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, run_id)
  SELECT $3, $4, b.*, $1 FROM fence, unnest($5::text[], $6::text[], $7::text[], $8::bytea[]) AS b(channel, version, type, blob)
  ON CONFLICT DO NOTHING
), checkpoint AS (
  INSERT INTO agentplane.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  SELECT $3, $4, $9, $10, $11::jsonb, $12::jsonb FROM fence
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
  DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata)
SELECT 1 FROM fence`;

/** Keeps a checkpoint; answers false when another attempt has the run. */
export async function putCheckpoint(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Fence,
  { blobs, ...dumped }: DumpedCheckpoint,
): Promise<boolean> {
  const { rowCount } = await sql.asWorker(scope, {
    name: 'put-checkpoint',
    text: PUT,
    values: [
      runId,
      attempt,
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
  return rowCount !== 0;
}
