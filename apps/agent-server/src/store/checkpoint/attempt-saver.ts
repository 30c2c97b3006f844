import type { RunnableConfig } from '@langchain/core/runnables';
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointMetadata,
  CheckpointTuple,
} from '@langchain/langgraph-checkpoint';
import type { JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import { type Fence, FencedError } from '../row/claimed-run.js';
import { jsonbText } from '../json-text.js';
import { PATIENCE_MS, persevere } from '../batch.js';
import { checkpointPlace } from '../row/checkpoint-place.js';
import type { DumpedBlob, StateWrite, StateWriter } from './put-states.js';
import { StateSaver } from './thread-saver.js';

/**
 * The public Postgres checkpointer for one attempt of a run: the same tables and reads, but writes of all
 * runs share statements, and are refused once another attempt has the run. (The public one checks no lease,
 * and takes a transaction of many round trips for each write.)
 */
export class AttemptSaver extends StateSaver {
  readonly #written = new Set<string>();

  constructor(
    private readonly writer: StateWriter,
    private readonly fence: Fence,
    /**
     * Called when a write was refused or failed. The write itself then resolves: the loop of a graph awaits
     * its promises only at the end, and a rejection without a handler until then would end the process.
     */
    private readonly onFailure: (error: unknown) => void,
    /**
     * Metadata recorded with every checkpoint: the identity of the run, for filters, rollback and finding out
     * where an attempt stopped.
     */
    private readonly runMetadata: JsonObject,
    private readonly clock: Clock,
    /** A thread without any checkpoint before this attempt: only its own writes are looked up. */
    private readonly emptyThread?: string,
  ) {
    super(writer.sql);
  }

  /** Namespaces that this attempt has written to. */
  get written(): ReadonlySet<string> {
    return this.#written;
  }

  override getDeltaChannelHistory(
    options: Parameters<StateSaver['getDeltaChannelHistory']>[0],
  ): ReturnType<StateSaver['getDeltaChannelHistory']> {
    return persevere(this.clock, PATIENCE_MS, () => super.getDeltaChannelHistory(options));
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (this.#hasNoneOf(config)) return undefined;
    const found = await persevere(this.clock, PATIENCE_MS, () => super.getTuple(config));
    // the run has made no progress there: the library would take its input for an answer
    if (found?.metadata?.source === 'fork') Reflect.deleteProperty(found.metadata, 'run_id');
    return found;
  }

  #hasNoneOf(config: RunnableConfig): boolean {
    if (this.emptyThread === undefined) return false;
    const { threadId, namespace, checkpointId } = checkpointPlace(config);
    return threadId === this.emptyThread && checkpointId === undefined && !this.#written.has(namespace);
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, namespace, checkpointId: parentId } = checkpointPlace(config);
    const { channel_values: values, ...rest } = checkpoint;
    const blobs = await Promise.all(
      Object.entries(newVersions).map(async ([channel, version]): Promise<DumpedBlob> => {
        const dumped = channel in values ? await this.serde.dumpsTyped(values[channel]) : undefined;
        const [type, bytes] = dumped && dumped[1].length > 0 ? dumped : ['empty', null];
        return { channel, version: version.toString(), type, bytes: bytes && Buffer.from(bytes) };
      }),
    );
    const dumped = {
      threadId,
      namespace,
      checkpointId: checkpoint.id,
      parentId,
      checkpoint: jsonbText(rest),
      metadata: jsonbText({ ...this.runMetadata, ...metadata }),
      blobs,
    };
    await this.#write({ kind: 'checkpoint', fence: this.fence, dumped });
    return {
      configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpoint.id },
    };
  }

  override async putWrites(...given: Parameters<StateSaver['putWrites']>): Promise<void> {
    await this.#write({ kind: 'writes', fence: this.fence, dumped: await this.dumpWrites(...given) });
  }

  /** Threads are removed by the server only. */
  override deleteThread(): Promise<void> {
    return Promise.reject(new Error('a run cannot delete threads'));
  }

  async #write(state: StateWrite): Promise<void> {
    this.#written.add(state.dumped.namespace);
    const { runId, attempt } = this.fence;
    try {
      if (!(await persevere(this.clock, PATIENCE_MS, () => this.writer.put(state))))
        this.onFailure(new FencedError(runId, attempt));
    } catch (error) {
      this.onFailure(error);
    }
  }
}
