import type { RunnableConfig } from '@langchain/core/runnables';
import {
  WRITES_IDX_MAP,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointMetadata,
  type PendingWrite,
} from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Pool } from 'pg';
import type { Clock } from '#lib/time';
import { jsonbText } from './json-text.js';
import { SCHEMA } from './migrations.js';
import { persevere } from './persevere.js';
import { FencedError } from './run-row.js';

/** The attempt of a run that writes. */
export interface Fence {
  readonly runId: string;
  readonly attempt: number;
}

// The shared lock on the run's row makes a take-over wait for this statement, and this statement see a take-over.
const FENCE = `fence AS MATERIALIZED (
  SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND attempt = $2 AND status = 'running' FOR SHARE)`;

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

function putWritesStatement(onConflict: string): string {
  return `
WITH ${FENCE}, writes AS (
  INSERT INTO agentplane.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, run_id)
  SELECT $3, $4, $5, $6, w.*, $1 FROM fence, unnest($7::int[], $8::text[], $9::text[], $10::bytea[]) AS w(idx, channel, type, blob)
  ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict})
SELECT 1 FROM fence`;
}

const INSERT_WRITES = putWritesStatement('DO NOTHING');
const UPSERT_WRITES = putWritesStatement(
  'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob, run_id = EXCLUDED.run_id',
);

/** How long a write waits for a database that is away: most restarts are over by then. */
const PATIENCE_MS = 10_000;

/** What JSON has no text for (a function) comes out of the serialiser empty, and could not be read again. */
const NO_VALUE = Buffer.from('null');

interface DumpedWrite {
  readonly idx: number;
  readonly channel: string;
  readonly type: string;
  readonly blob: Buffer;
}

/**
 * The public Postgres checkpointer for one attempt of a run: the same tables and reads, but each write is one statement
 * that is refused once another attempt has the run. (The public one asks nobody, and takes a transaction of many round
 * trips for each write.)
 */
export class AttemptSaver extends PostgresSaver {
  readonly #pool: Pool;

  constructor(
    pool: Pool,
    private readonly fence: Fence,
    /**
     * Called when a write was refused or failed. The write itself then resolves: the loop of a graph looks at its
     * promises only at the end, and a rejection that nobody handles until then would end the process.
     */
    private readonly onFailure: (error: unknown) => void,
    /** Recorded with every checkpoint: what the run is, for filters, rollback and finding out where an attempt stopped. */
    private readonly runMetadata: Readonly<Record<string, unknown>>,
    private readonly clock: Clock,
  ) {
    super(pool, undefined, { schema: SCHEMA });
    this.#pool = pool;
  }

  /**
   * Versions name the stored values of a channel, so two branches of a thread must never make the same one: a random
   * fraction keeps them apart. (The public checkpointer counts 1, 2, 3 and then finds the other branch's value.)
   */
  override getNextVersion(current: number | undefined): number {
    return Math.floor(current ?? 0) + 1 + Math.random();
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = config.configurable ?? {};
    const { channel_values: values, ...rest } = checkpoint;
    const blobs = await Promise.all(
      Object.entries(newVersions).map(async ([channel, version]) => {
        const dumped = channel in values ? await this.serde.dumpsTyped(values[channel]) : undefined;
        const [type, bytes] = dumped && dumped[1].length > 0 ? dumped : ['empty', null];
        return { channel, version: version.toString(), type, bytes: bytes && Buffer.from(bytes) };
      }),
    );
    await this.#write('put-checkpoint', PUT, [
      thread_id,
      checkpoint_ns,
      blobs.map((blob) => blob.channel),
      blobs.map((blob) => blob.version),
      blobs.map((blob) => blob.type),
      blobs.map((blob) => blob.bytes),
      checkpoint.id,
      checkpoint_id ?? null,
      jsonbText(rest),
      jsonbText({ ...this.runMetadata, ...metadata }),
    ]);
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = config.configurable ?? {};
    const areSpecial = writes.every(([channel]) => String(channel) in WRITES_IDX_MAP);
    const dumped = await Promise.all(
      writes.map(async ([name, value], position): Promise<DumpedWrite> => {
        const channel = String(name);
        const [type, bytes] = await this.serde.dumpsTyped(value);
        const blob = bytes.length > 0 ? Buffer.from(bytes) : NO_VALUE;
        return { idx: WRITES_IDX_MAP[channel] ?? position, channel, type, blob };
      }),
    );
    // One statement cannot update a row twice: the last write of a place counts.
    const rows = areSpecial ? [...new Map(dumped.map((write) => [write.idx, write])).values()] : dumped;
    await this.#write(
      areSpecial ? 'upsert-writes' : 'insert-writes',
      areSpecial ? UPSERT_WRITES : INSERT_WRITES,
      [
        thread_id,
        checkpoint_ns,
        checkpoint_id,
        taskId,
        rows.map((write) => write.idx),
        rows.map((write) => write.channel),
        rows.map((write) => write.type),
        rows.map((write) => write.blob),
      ],
    );
  }

  /** Nobody but the server itself forgets threads. */
  override deleteThread(): Promise<void> {
    return Promise.reject(new Error('a run cannot delete threads'));
  }

  async #write(name: string, text: string, values: unknown[]): Promise<void> {
    const { runId, attempt } = this.fence;
    try {
      const { rowCount } = await persevere(this.clock, PATIENCE_MS, () =>
        this.#pool.query({ name, text, values: [runId, attempt, ...values] }),
      );
      if (rowCount === 0) this.onFailure(new FencedError(runId, attempt));
    } catch (error) {
      this.onFailure(error);
    }
  }
}
