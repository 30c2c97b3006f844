import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from '@langchain/langgraph-checkpoint';
import type { Pool } from '#lib/postgres';
import { checkpointPlace } from '../row/checkpoint-place.js';
import { StateSaver } from './state-saver.js';

/**
 * The public checkpointer for one thread that a caller has been seen to reach. It reads by whatever thread id it is
 * given, and without one it reads every thread; here any other thread is refused.
 */
export class ThreadSaver extends StateSaver {
  constructor(
    pool: Pool,
    private readonly threadId: string,
  ) {
    super(pool);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    this.#requireThread(config);
    return super.getTuple(config);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    this.#requireThread(config);
    yield* super.list(config, options);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    this.#requireThread(config);
    return super.put(config, checkpoint, metadata, newVersions);
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    this.#requireThread(config);
    await super.putWrites(config, writes, taskId);
  }

  override deleteThread(): Promise<void> {
    return Promise.reject(new Error('a look at a state cannot delete threads'));
  }

  #requireThread(config: RunnableConfig): void {
    const { threadId } = checkpointPlace(config);
    if (threadId !== this.threadId)
      throw new Error(`checkpoints of thread ${this.threadId}: thread ${threadId} was asked for`);
  }
}
