import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
} from '@langchain/langgraph-checkpoint';
import { checkpointPlace } from '../row/checkpoint-place.js';
import type { Sql } from '../sql.js';
import { StateSaver } from './state-saver.js';

/** Each checkpoint comes with all its values: whoever stops reading early has had a part of them in memory only. */
const FIRST_PAGE = 2;
const PAGE_GROWTH = 4;

/**
 * The public checkpointer for one thread that a caller has been seen to reach. It reads by whatever thread id it is
 * given, and without one it reads every thread; here any other thread is refused.
 */
export class ThreadSaver extends StateSaver {
  /** Ids of checkpoints that this has stored. */
  readonly #made = new Set<string>();
  readonly #held: Parameters<StateSaver['putWrites']>[] = [];

  constructor(
    sql: Sql,
    private readonly threadId: string,
  ) {
    super(sql);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    this.#requireThread(config);
    return super.getTuple(config);
  }

  override async getDeltaChannelHistory(
    options: Parameters<StateSaver['getDeltaChannelHistory']>[0],
  ): ReturnType<StateSaver['getDeltaChannelHistory']> {
    this.#requireThread(options.config);
    return super.getDeltaChannelHistory(options);
  }

  override async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    this.#requireThread(config);
    let { before } = options ?? {};
    let left = options?.limit ?? Infinity;
    for (let most = FIRST_PAGE; left > 0; most *= PAGE_GROWTH) {
      const limit = Math.min(most, left);
      let found = 0;
      for await (const tuple of super.list(config, { ...options, before, limit })) {
        found += 1;
        before = tuple.config;
        yield tuple;
      }
      if (found < limit) return;
      left -= found;
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    this.#requireThread(config);
    for (const held of this.#held.splice(0)) await super.putWrites(...held);
    this.#made.add(checkpoint.id);
    return super.put(config, checkpoint, metadata, newVersions);
  }

  /**
   * The library stores the writes of a change beside the checkpoint before its channels have taken them. They are kept
   * back until there is a new checkpoint: a delta channel would replay those of a change that was refused.
   */
  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    this.#requireThread(config);
    if (this.#made.has(checkpointPlace(config).checkpointId ?? ''))
      await super.putWrites(config, writes, taskId);
    else this.#held.push([config, writes, taskId]);
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
