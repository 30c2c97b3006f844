import { threadNotFound } from '../row/thread-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visible } from '../visible.js';

/** Bytes of a row and its index entries, beside its contents. */
const BYTES_OF_ROW = 100;

const TABLES = [
  ['checkpoint_blobs', 'coalesce(pg_column_size(o.blob), 0)'],
  ['checkpoint_writes', 'pg_column_size(o.blob)'],
  ['checkpoints', 'pg_column_size(o.checkpoint) + pg_column_size(o.metadata)'],
] as const;

/**
 * Bytes of disk that the states of a thread take, as they are stored: long ones are compressed, and are not read for this.
 * @throws PublicError `not_found`
 */
export async function measureThread(scope: Scope, sql: Sql, threadId: string): Promise<number> {
  const sums = TABLES.map(
    ([table, bytes]) => `(SELECT coalesce(sum(${bytes} + ${BYTES_OF_ROW}), 0)::float8
      FROM agentplane.${table} o WHERE o.thread_id = t.thread_id::text)`,
  );
  const { rows } = await sql.inScope<{ bytes: number }>(scope, {
    scans: 'Measuring the thread',
    text: `SELECT coalesce(pg_column_size(t.values), 0) + ${sums.join(' + ')} AS bytes
      FROM agentplane.threads t WHERE t.thread_id = $2::uuid AND ${visible('t.metadata')}`,
    values: [threadId],
  });
  if (!rows[0]) throw threadNotFound(threadId);
  return rows[0].bytes;
}
