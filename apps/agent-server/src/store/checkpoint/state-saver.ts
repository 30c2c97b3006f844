import { parseJson } from '#lib/json';
import type { RunnableConfig } from '@langchain/core/runnables';
import type { CheckpointMetadata, DeltaChannelHistory } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { stateSerializer } from '../../state/state-serializer.js';
import { jsonbText } from '../json-text.js';
import { checkpointPlace } from '../row/checkpoint-place.js';
import { SCHEMA } from '../schema/schema-name.js';
import type { Sql } from '../sql.js';
import { WORKER } from '../worker-scope.js';
import { findDeltaHistory } from './find-delta-history.js';

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

  /** Metadata is plain JSON in its column, and comes back as it is. */
  protected override _dumpMetadata(metadata: CheckpointMetadata): Promise<unknown> {
    return Promise.resolve(parseJson(jsonbText(metadata)));
  }

  protected override _loadMetadata(metadata: Record<string, unknown>): Promise<Record<string, unknown>> {
    return Promise.resolve(metadata);
  }
}
