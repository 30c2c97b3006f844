import { CHANNEL } from '../channel.js';
import type { RelayedEvent } from '../row/run-event-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

// The row of a run that has ended may be removed already, so only a newer attempt counts against its last
// events. Repeated events were shown to readers before.
const APPEND = `INSERT INTO agentplane.run_events (run_id, attempt, n, event, data, repeated)
  SELECT e.run_id, e.attempt, e.n, e.event, e.data, e.repeated
  FROM unnest($1::uuid[], $2::int[], $3::int[], $4::text[], $5::text[], $6::boolean[])
    AS e(run_id, attempt, n, event, data, repeated)
  WHERE e.repeated OR NOT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = e.run_id AND r.attempt > e.attempt)
  ON CONFLICT DO NOTHING`;
const NOTIFY = `SELECT pg_notify('${CHANNEL}', 'events:' || id) FROM unnest($1::text[]) AS id`;

/** Relays output to readers at other servers. */
export async function appendRunEvents(
  scope: WorkerScope,
  sql: Sql,
  events: readonly RelayedEvent[],
): Promise<void> {
  await sql.asWorker(scope, {
    name: 'append-run-events',
    text: APPEND,
    values: [
      events.map((event) => event.runId),
      events.map((event) => event.position.attempt),
      events.map((event) => event.position.n),
      events.map((event) => event.event),
      events.map((event) => event.data),
      events.map((event) => event.isRepeated),
    ],
  });
  await sql.asWorker(scope, { text: NOTIFY, values: [[...new Set(events.map((event) => event.runId))]] });
}
