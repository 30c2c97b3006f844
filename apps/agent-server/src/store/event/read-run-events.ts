import type { Cursor, StoredEvent } from '../row/run-event-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

// The sizes are read without the texts. The first event is returned whatever its size.
const READ = `
WITH next AS (
  SELECT c.run_id, e.attempt, e.n, octet_length(e.data) AS bytes
  FROM unnest($1::uuid[], $2::int[], $3::int[]) AS c(run_id, attempt, n)
  CROSS JOIN LATERAL (
    SELECT * FROM agentplane.run_events e WHERE e.run_id = c.run_id
      AND (e.attempt, e.n) > (COALESCE(c.attempt, -1), COALESCE(c.n, -1)) AND (c.attempt IS NOT NULL OR NOT e.repeated)
    ORDER BY e.attempt, e.n LIMIT 1000) e),
page AS (
  SELECT run_id, attempt, n, sum(bytes) OVER (ORDER BY run_id, attempt, n) - bytes AS bytes_before FROM next)
SELECT run_id, attempt, n, e.event, e.data FROM page JOIN agentplane.run_events e USING (run_id, attempt, n)
WHERE bytes_before < $4 ORDER BY run_id, attempt, n`;

interface EventRow {
  readonly run_id: string;
  readonly attempt: number;
  readonly n: number;
  readonly event: string;
  readonly data: string;
}

/** Events that other servers relayed after each cursor, in order, up to some bytes. */
export async function readRunEvents(
  scope: WorkerScope,
  sql: Sql,
  cursors: readonly Cursor[],
  maxBytes: number,
): Promise<StoredEvent[]> {
  const { rows } = await sql.asWorker<EventRow>(scope, {
    name: 'read-run-events',
    text: READ,
    values: [
      cursors.map((cursor) => cursor.runId),
      cursors.map((cursor) => cursor.after?.attempt ?? null),
      cursors.map((cursor) => cursor.after?.n ?? null),
      maxBytes,
    ],
  });
  return rows.map(({ run_id: runId, attempt, n, event, data }) => ({
    runId,
    position: { attempt, n },
    event,
    data,
  }));
}
