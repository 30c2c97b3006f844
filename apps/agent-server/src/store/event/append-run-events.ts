import { CHANNEL } from '../channel.js';
import type { RelayedEvent } from '../row/run-event-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

// The row of a run that has ended may be removed already, so only a newer attempt counts against its last events.
const APPEND = `INSERT INTO agentplane.run_events (run_id, event, data)
  SELECT e.run_id, e.event, e.data
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int[]) WITH ORDINALITY AS e(run_id, event, data, attempt, place)
  WHERE NOT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = e.run_id AND r.attempt > e.attempt)
  ORDER BY e.place`;
const NOTIFY = `SELECT pg_notify('${CHANNEL}', 'events:' || id) FROM unnest($1::text[]) AS id`;

/** Relays output to readers at other servers, in order. */
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
      events.map((event) => event.event),
      events.map((event) => event.data),
      events.map((event) => event.attempt),
    ],
  });
  await sql.asWorker(scope, { text: NOTIFY, values: [[...new Set(events.map((event) => event.runId))]] });
}
