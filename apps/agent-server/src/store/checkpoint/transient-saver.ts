import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
} from '@langchain/langgraph-checkpoint';
import { checkpointPlace } from '../row/checkpoint-place.js';

type Writes = [string, string, unknown][];

interface Held {
  readonly config: RunnableConfig;
  readonly checkpoint: Checkpoint;
  readonly metadata: CheckpointMetadata;
  readonly parentConfig: RunnableConfig | undefined;
  readonly writes: Writes;
}

/**
 * Checkpoints of a run without a thread: the newest of each graph, in memory, unserialised. They make
 * subgraphs and interrupts work as on a thread; nothing is kept once the run has ended.
 */
export class TransientSaver extends BaseCheckpointSaver {
  readonly #held = new Map<string, Held>();
  /** Writes may come before their checkpoint. */
  readonly #writes = new Map<string, Writes>();

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { namespace: ns, checkpointId: id } = checkpointPlace(config);
    const held = this.#held.get(ns);
    if (!held || (id !== undefined && held.checkpoint.id !== id)) return undefined;
    const { writes, parentConfig, ...tuple } = held;
    return { ...tuple, ...(parentConfig ? { parentConfig } : {}), pendingWrites: [...writes] };
  }

  override async *list(config: RunnableConfig): AsyncGenerator<CheckpointTuple> {
    const tuple = await this.getTuple(config);
    if (tuple) yield tuple;
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const { threadId, namespace: ns, checkpointId: id } = checkpointPlace(config);
    const base = { thread_id: threadId, checkpoint_ns: ns };
    const next: RunnableConfig = { configurable: { ...base, checkpoint_id: checkpoint.id } };
    const previous = this.#held.get(ns);
    if (previous && previous.checkpoint.id !== checkpoint.id)
      this.#writes.delete(`${ns}\n${previous.checkpoint.id}`);
    this.#held.set(ns, {
      config: next,
      checkpoint,
      metadata,
      parentConfig: id === undefined ? undefined : { configurable: { ...base, checkpoint_id: id } },
      writes: this.#writesOf(ns, checkpoint.id),
    });
    return next;
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { namespace: ns, checkpointId: id } = checkpointPlace(config);
    const kept = this.#writesOf(ns, id ?? '');
    for (const [channel, value] of writes) kept.push([taskId, String(channel), value]);
  }

  override async deleteThread(): Promise<void> {
    this.#held.clear();
    this.#writes.clear();
  }

  #writesOf(ns: string, id: string): Writes {
    const key = `${ns}\n${id}`;
    const found = this.#writes.get(key);
    if (found) return found;
    const made: Writes = [];
    this.#writes.set(key, made);
    return made;
  }
}
