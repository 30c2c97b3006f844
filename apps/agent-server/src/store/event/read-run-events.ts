import type { Cursor, StoredEvent } from '../row/run-event-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

const READ = `SELECT e.run_id, e.ordinal, e.event, e.data
  FROM unnest($1::uuid[], $2::bigint[]) AS c(run_id, after)
  JOIN agentplane.run_events e ON e.run_id = c.run_id AND e.ordinal > c.after ORDER BY e.ordinal LIMIT 1000`;

interface EventRow {
  readonly run_id: string;
  readonly ordinal: string;
  readonly event: string;
  readonly data: string;
}

/** What other servers relayed after each cursor, in order. */
export async function readRunEvents(
  scope: WorkerScope,
  sql: Sql,
  cursors: readonly Cursor[],
): Promise<StoredEvent[]> {
  const { rows } = await sql.asWorker<EventRow>(scope, {
    text: READ,
    values: [cursors.map((cursor) => cursor.runId), cursors.map((cursor) => cursor.after.toString())],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    ordinal: BigInt(row.ordinal),
    event: row.event,
    data: row.data,
  }));
}
