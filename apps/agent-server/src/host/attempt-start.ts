import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { isJsonObject } from '#lib/json';
import type { AttemptedRun } from '../protocol/attempted-run.js';

/** Thrown when a run is to begin from a checkpoint that does not exist; the library would begin with an empty state. */
class CheckpointNotFound extends Error {
  override readonly name = 'CheckpointNotFound';
}

/** Returns true when an earlier attempt of this run has left a checkpoint to continue from. */
export async function hasProgress(run: AttemptedRun, saver: BaseCheckpointSaver): Promise<boolean> {
  if (run.attempt === 1 || run.isTemporary) return false;
  const tuple = await saver.getTuple({ configurable: { thread_id: run.threadId, checkpoint_ns: '' } });
  const metadata: unknown = tuple?.metadata;
  return isJsonObject(metadata) && metadata['run_id'] === run.runId;
}

/** @throws CheckpointNotFound when the run is to begin from a checkpoint that its thread does not have */
export async function requireCheckpoint(
  { threadId, kwargs }: AttemptedRun,
  saver: BaseCheckpointSaver,
): Promise<void> {
  const { checkpoint } = kwargs;
  if (!checkpoint) return;
  const { checkpoint_ns, checkpoint_id } = checkpoint;
  const place = { thread_id: threadId, checkpoint_ns: checkpoint_ns ?? '', checkpoint_id };
  if (!(await saver.getTuple({ configurable: place })))
    throw new CheckpointNotFound(`Thread ${threadId} has no checkpoint ${String(checkpoint_id)}`);
}
