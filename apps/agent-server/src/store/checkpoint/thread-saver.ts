import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
  uuid6,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { parseJson } from '#lib/json';
import { stateSerializer } from './state-serializer.js';
import { jsonbText } from '../json-text.js';
import { checkpointPlace } from '../row/checkpoint-place.js';
import { SCHEMA } from '../schema/later-tables.js';
import type { Sql } from '../sql.js';
import { WORKER } from '../worker-scope.js';
import { findDeltaHistory } from './checkpoints.js';
import { type DumpedWrite, type DumpedWrites, putThreadWrites } from './put-states.js';

/** Stored text for a value without JSON (a function): the serialiser leaves it empty, which could not be read again. */
const NO_VALUE = Buffer.from('null');

/** The public Postgres checkpointer over the server's tables, with a serialiser that makes no class from stored text. */
export class StateSaver extends PostgresSaver {
  constructor(private readonly sql: Sql) {
    super(sql.poolOfCheckpointer(WORKER), stateSerializer, { schema: SCHEMA });
  }

  /**
   * Versions name the stored values of a channel, so two branches of a thread must never make the same one: a random
   * fraction keeps them apart. (The public checkpointer counts 1, 2, 3 and then finds the other branch's value.)
   */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  /** One statement; the public one reads each ancestor by itself. */
  override async getDeltaChannelHistory({
    config,
    channels,
  }: {
    readonly config: RunnableConfig;
    readonly channels: readonly string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const found = await findDeltaHistory(WORKER, this.sql, { ...checkpointPlace(config), channels });
    const histories: Record<string, DeltaChannelHistory> = {};
    for (const channel of channels) histories[channel] = { writes: [] };
    for (const { channel, taskId, type, bytes } of found) {
      const [history, value] = [histories[channel], await this.serde.loadsTyped(type, bytes)];
      if (!history) continue;
      if (taskId === null) history.seed = value;
      else history.writes.push([taskId, channel, value]);
    }
    return histories;
  }

  /**
   * Keeps writes of a task, in one statement. The public one leaves out the place of the task in its step, by which
   * LangGraph since 1.5 orders the writes that it replays.
   */
  override async putWrites(...given: Parameters<StateSaver['dumpWrites']>): Promise<void> {
    await putThreadWrites(WORKER, this.sql, await this.dumpWrites(...given));
  }

  protected async dumpWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = '',
  ): Promise<DumpedWrites> {
    const { threadId, namespace, checkpointId = '' } = checkpointPlace(config);
    const replaces = writes.every(([channel]) => String(channel) in WRITES_IDX_MAP);
    const all = await Promise.all(
      writes.map(async ([name, value], position): Promise<DumpedWrite> => {
        const channel = String(name);
        const [type, bytes] = await this.serde.dumpsTyped(value);
        const blob = bytes.length > 0 ? Buffer.from(bytes) : NO_VALUE;
        return { idx: WRITES_IDX_MAP[channel] ?? position, channel, type, blob };
      }),
    );
    // One statement cannot update a row twice: the last write of a place counts.
    const rows = replaces ? [...new Map(all.map((write) => [write.idx, write])).values()] : all;
    return { threadId, namespace, checkpointId, taskId, taskPath, replaces, writes: rows };
  }

  /** Metadata is plain JSON in its column, and comes back as it is. */
  protected override _dumpMetadata(metadata: CheckpointMetadata): Promise<unknown> {
    return Promise.resolve(parseJson(jsonbText(metadata)));
  }

  protected override _loadMetadata(metadata: Record<string, unknown>): Promise<Record<string, unknown>> {
    return Promise.resolve(metadata);
  }
}

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

/**
 * Checkpoints of the first page. Each comes with all its values: a reader that stops early has had only a
 * part of them in memory.
 */
const FIRST_PAGE = 2;
const PAGE_GROWTH = 4;

/**
 * The public checkpointer for one thread that a caller is known to reach. It reads any thread id that it is
 * given, and without one it reads every thread; here any other thread is refused.
 */
export class ThreadSaver extends StateSaver {
  /** Ids of checkpoints that this has stored. */
  readonly #made = new Set<string>();
  readonly #held: Parameters<StateSaver['putWrites']>[] = [];
  /** The id of a copy of the checkpoint that is changed: it is older than that of the new one. */
  #copyId = '';
  /** Ids by which checkpoints were requested. */
  readonly #named = new Set<string>();

  constructor(
    sql: Sql,
    private readonly threadId: string,
  ) {
    super(sql);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    this.#requireThread(config);
    const { checkpointId } = checkpointPlace(config);
    if (checkpointId !== undefined) this.#named.add(checkpointId);
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
    const held = this.#held.splice(0);
    const parent = held.length > 0 ? await this.#branchPoint(config, checkpoint, held) : config;
    for (const [, ...writes] of held) await super.putWrites(parent, ...writes);
    this.#made.add(checkpoint.id);
    return super.put(parent, checkpoint, metadata, newVersions);
  }

  /**
   * The library stores the writes of a change beside the checkpoint before its channels have taken them. They
   * are kept back until there is a new checkpoint: a delta channel would replay those of a refused change.
   */
  override async putWrites(...given: Parameters<StateSaver['putWrites']>): Promise<void> {
    const [config] = given;
    this.#requireThread(config);
    if (this.#made.has(checkpointPlace(config).checkpointId ?? '')) await super.putWrites(...given);
    else {
      if (this.#held.length === 0) this.#copyId = uuid6(0);
      this.#held.push(given);
    }
  }

  /**
   * The checkpoint to store changes beside. LangGraph for JavaScript stores the changes of delta channels beside the
   * checkpoint that they were made from, and replays all that it finds there: those of a second branch need a copy.
   */
  async #branchPoint(
    config: RunnableConfig,
    next: Checkpoint,
    held: readonly Parameters<StateSaver['putWrites']>[],
  ): Promise<RunnableConfig> {
    const { checkpointId: id = '', namespace, threadId } = checkpointPlace(config);
    // the newest is read with the writes of its tasks
    if (!this.#named.has(id) || this.#made.has(id)) return config;
    const place = { thread_id: threadId, checkpoint_ns: namespace };
    const from = await super.getTuple({ configurable: { ...place, checkpoint_id: id } });
    if (!from) return config;
    // a channel of the library itself is empty once its value was used
    const isDelta = (name: string): boolean =>
      !/^(branch:|__)/.test(name) && !Object.hasOwn(next.channel_values, name);
    if (!from.pendingWrites?.some(([, name]) => isDelta(name))) {
      if (!held.some(([, writes]) => writes.some(([name]) => isDelta(name)))) return config;
      const newest = await super.getTuple({ configurable: place });
      if (newest?.checkpoint.id === id) return config;
    }
    const { checkpoint, metadata, parentConfig = { configurable: place } } = from;
    const { step = -1, parents = {} } = metadata ?? {};
    const copied = { source: 'fork', step: step + 1, parents } as const;
    return super.put(parentConfig, { ...checkpoint, id: this.#copyId, ts: next.ts }, copied, {});
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
