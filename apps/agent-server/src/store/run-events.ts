import type { Pool } from 'pg';
import { Batch } from './batch.js';

/** An event on its way to readers at another server. */
export interface RelayedEvent {
  readonly runId: string;
  /** Of the run that speaks; refused once a newer one has begun. */
  readonly attempt: number;
  /** `mode|namespace…` as on the wire, or `END` with the result as data. */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
}

export interface StoredEvent extends Omit<RelayedEvent, 'attempt'> {
  readonly ordinal: bigint;
}

/** How far a reader has come in a run's events. */
export interface Cursor {
  readonly runId: string;
  readonly after: bigint;
}

/** Name of the event that carries the result of a run. */
export const END = '__end__';

// A run that has ended may be gone already, so only a newer attempt counts against its last words.
const APPEND = `INSERT INTO agentplane.run_events (run_id, event, data)
  SELECT e.run_id, e.event, e.data
  FROM unnest($1::uuid[], $2::text[], $3::text[], $4::int[]) WITH ORDINALITY AS e(run_id, event, data, attempt, place)
  WHERE NOT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.run_id = e.run_id AND r.attempt > e.attempt)
  ORDER BY e.place`;
const NOTIFY = `SELECT pg_notify('agentplane', 'events:' || id) FROM unnest($1::text[]) AS id`;
const READ = `SELECT e.run_id, e.ordinal, e.event, e.data
  FROM unnest($1::uuid[], $2::bigint[]) AS c(run_id, after)
  JOIN agentplane.run_events e ON e.run_id = c.run_id AND e.ordinal > c.after ORDER BY e.ordinal LIMIT 1000`;
const WATCH = `UPDATE agentplane.runs SET watchers = array_append(watchers, $2)
  WHERE run_id = $1 AND status IN ('pending', 'running') AND NOT ($2 = ANY(watchers))`;
const SWEEP = `DELETE FROM agentplane.run_events WHERE created_at < clock_timestamp() - interval '10 minutes'`;

/** Output of runs for readers that are connected to another server than the one at work. */
export class RunEvents {
  readonly #appends = new Batch<RelayedEvent, void>((events) => this.#append(events), 500);

  constructor(
    private readonly pool: Pool,
    private readonly serverId: string,
  ) {}

  /** Keeps the order of calls. */
  append(event: RelayedEvent): Promise<void> {
    return this.#appends.add(event);
  }

  async #append(events: readonly RelayedEvent[]): Promise<void[]> {
    await this.pool.query({
      name: 'append-run-events',
      text: APPEND,
      values: [
        events.map((event) => event.runId),
        events.map((event) => event.event),
        events.map((event) => event.data),
        events.map((event) => event.attempt),
      ],
    });
    await this.pool.query(NOTIFY, [[...new Set(events.map((event) => event.runId))]]);
    return events.map(() => undefined);
  }

  async read(cursors: readonly Cursor[]): Promise<StoredEvent[]> {
    const { rows } = await this.pool.query<{ run_id: string; ordinal: string; event: string; data: string }>(
      READ,
      [cursors.map((cursor) => cursor.runId), cursors.map((cursor) => cursor.after.toString())],
    );
    return rows.map((row) => ({
      runId: row.run_id,
      ordinal: BigInt(row.ordinal),
      event: row.event,
      data: row.data,
    }));
  }

  /** Tells whichever server works on the run that output is wanted here from now on. */
  async watch(runId: string): Promise<void> {
    const { rowCount } = await this.pool.query(WATCH, [runId, this.serverId]);
    if (rowCount) await this.pool.query(`SELECT pg_notify('agentplane', 'watch:' || $1)`, [runId]);
  }

  async sweep(): Promise<void> {
    await this.pool.query(SWEEP);
  }
}
