import {
  type Position,
  positionText,
  type Cursor,
  END,
  type RelayedEvent,
  type StoredEvent,
} from '../../log/logged-event.js';
import { CHANNEL } from '../channel.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../row/claimed-run.js';
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

/** The newest position of the output that other servers relayed of a run; its end does not count. */
export async function findLastEvent(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
): Promise<Position | undefined> {
  const { rows } = await sql.asWorker<{ attempt: number; n: number }>(scope, {
    text: `SELECT attempt, n FROM agentplane.run_events WHERE run_id = $1 AND event <> $2
      ORDER BY attempt DESC, n DESC LIMIT 1`,
    values: [runId, END],
  });
  return rows[0];
}

/** Marks a run whose output has a reader: its next attempt records it from the first event. */
export async function markStreamed(scope: WorkerScope, sql: Sql, runId: string): Promise<void> {
  await sql.asWorker(scope, {
    text: `UPDATE agentplane.runs SET streamed = true
      WHERE run_id = $1 AND NOT streamed AND status IN ('pending', 'running')`,
    values: [runId],
  });
}

/** Answers servers that asked for a run's output with its newest position; later events are relayed. */
export async function notifyPosition(
  scope: WorkerScope,
  sql: Sql,
  runId: string,
  position: Position,
): Promise<void> {
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'at:' || $1)`,
    values: [`${runId}:${positionText(position)}`],
  });
}

const SWEEP_EVENTS = `DELETE FROM agentplane.run_events
  WHERE created_at < clock_timestamp() - $1 * interval '1 millisecond'`;
const SWEEP_RUNS = `DELETE FROM agentplane.runs r WHERE r.temporary AND r.ended_at IS NOT NULL
  AND r.ended_at < clock_timestamp()
    - CASE WHEN (r.kwargs ->> 'resumable')::boolean THEN $1::float8 ELSE $2::float8 END * interval '1 millisecond'`;

/** Removes relayed events and ended runs without a thread once their readers had time to come back. */
export async function sweepRunEvents(
  scope: WorkerScope,
  sql: Sql,
  { keptMs, resumableMs }: { readonly keptMs: number; readonly resumableMs: number },
): Promise<void> {
  await sql.asWorker(scope, { text: SWEEP_EVENTS, values: [Math.max(keptMs, resumableMs)] });
  await sql.asWorker(scope, { text: SWEEP_RUNS, values: [resumableMs, keptMs] });
}

const WATCH = `UPDATE agentplane.runs SET streamed = true,
  watchers = CASE WHEN $2 = ANY(watchers) THEN watchers ELSE array_append(watchers, $2) END
  WHERE run_id = $1 AND status IN ('pending', 'running')`;

/**
 * Asks the server that has the run to relay its output to this one from now on.
 * @param after position after which events are repeated, as far as they are kept, also when the run has ended
 */
export async function watchRun(
  scope: WorkerScope,
  sql: Sql,
  { serverId }: ServerIdentity,
  runId: string,
  after: Position | undefined,
): Promise<void> {
  await sql.asWorker(scope, { text: WATCH, values: [runId, serverId] });
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'watch:' || $1)`,
    values: [`${runId}:${after ? positionText(after) : ''}:${serverId}`],
  });
}

/** Wakes the servers whose readers follow one of these threads: each has a new run. */
export async function notifyThreads(
  scope: WorkerScope,
  sql: Sql,
  threadIds: readonly string[],
): Promise<void> {
  await sql.asWorker(scope, {
    text: `SELECT pg_notify('${CHANNEL}', 'thread:' || id) FROM unnest($1::text[]) AS id`,
    values: [threadIds],
  });
}
