import { parseJson } from '#lib/json';
import type { CheckpointMetadata } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Pool } from '#lib/postgres';
import { stateSerializer } from '../../state/state-serializer.js';
import { jsonbText } from '../json-text.js';
import { SCHEMA } from '../schema/schema-name.js';

/** The public Postgres checkpointer over the server's tables, with a serialiser that makes no class from stored text. */
export class StateSaver extends PostgresSaver {
  constructor(pool: Pool) {
    super(pool, stateSerializer, { schema: SCHEMA });
  }

  /** Metadata is plain JSON in its column, and comes back as it is. */
  protected override _dumpMetadata(metadata: CheckpointMetadata): Promise<unknown> {
    return Promise.resolve(parseJson(jsonbText(metadata)));
  }

  protected override _loadMetadata(metadata: Record<string, unknown>): Promise<Record<string, unknown>> {
    return Promise.resolve(metadata);
  }
}
