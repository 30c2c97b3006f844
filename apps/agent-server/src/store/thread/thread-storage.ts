import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

interface Stored {
  readonly count: number;
  readonly bytes: number;
}

/** Bytes that the states of a thread take in the database, as they are stored: long ones are compressed. */
export interface ThreadStorage {
  readonly thread_id: string;
  readonly total_bytes: number;
  readonly checkpoints: Stored;
  readonly channel_values: Stored & {
    readonly by_channel: Readonly<Record<string, { readonly versions: number; readonly bytes: number }>>;
  };
  /** Results of tasks; those of earlier steps are kept with their checkpoints. */
  readonly pending_writes: Stored;
}

const sums = (bytes: string): string =>
  `json_build_object('count', count(*), 'bytes', coalesce(sum(${bytes}), 0))`;

const OF_THREAD = 'WHERE o.thread_id = t.thread_id::text';

/** @throws PublicError `not_found` */
export async function findThreadStorage(scope: Scope, sql: Sql, threadId: string): Promise<ThreadStorage> {
  const { rows } = await sql.inScope<Omit<ThreadStorage, 'total_bytes'>>(scope, {
    scans: 'Measuring the thread',
    text: `SELECT t.thread_id,
        (SELECT ${sums('pg_column_size(o.checkpoint) + pg_column_size(o.metadata)')}
          FROM agentplane.checkpoints o ${OF_THREAD}) AS checkpoints,
        (SELECT json_build_object('count', coalesce(sum(c.versions), 0), 'bytes', coalesce(sum(c.bytes), 0),
            'by_channel', coalesce(json_object_agg(c.channel, json_build_object('versions', c.versions, 'bytes', c.bytes)), '{}'))
          FROM (SELECT o.channel, count(*) AS versions, coalesce(sum(pg_column_size(o.blob)), 0) AS bytes
            FROM agentplane.checkpoint_blobs o ${OF_THREAD} GROUP BY o.channel) c) AS channel_values,
        (SELECT ${sums('pg_column_size(o.blob)')} FROM agentplane.checkpoint_writes o ${OF_THREAD}) AS pending_writes
      FROM agentplane.threads t WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  const [row] = rows;
  if (!row) throw threadNotFound(threadId);
  const { thread_id, ...parts } = row;
  const { checkpoints, channel_values: values, pending_writes: writes } = parts;
  return { thread_id, total_bytes: checkpoints.bytes + values.bytes + writes.bytes, ...parts };
}
