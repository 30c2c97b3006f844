import type { JsonObject } from '#lib/json';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** A call that this server is to make now. */
export interface DueWebhook {
  readonly runId: string;
  readonly url: string;
  readonly host: string;
  /** Counts from 1; the result of an attempt that another server has repeated since is refused. */
  readonly attempt: number;
  /** Milliseconds since the run ended. */
  readonly ageMs: number;
  readonly run: JsonObject;
  /** JSON text. */
  readonly values: string | undefined;
}

export interface WebhookPlaces {
  readonly limit: number;
  /** Calls of one host at a time. */
  readonly perHost: number;
  /** Hosts that have all the calls they may. */
  readonly busyHosts: readonly string[];
  /** After this time without a result the call is made again, by any server. */
  readonly leaseMs: number;
}

interface Row {
  readonly run_id: string;
  readonly url: string;
  readonly host: string;
  readonly attempts: number;
  readonly age_ms: number;
  readonly run: JsonObject;
  readonly values: string | null;
}

const CLAIM = `
WITH oldest AS (
  SELECT w.run_id, w.host, w.next_attempt_at FROM agentplane.webhooks w
  WHERE w.state = 'pending' AND w.next_attempt_at <= clock_timestamp() AND w.host <> ALL ($2)
  ORDER BY w.next_attempt_at LIMIT 200),
placed AS (
  SELECT o.run_id, row_number() OVER (PARTITION BY o.host ORDER BY o.next_attempt_at) AS place FROM oldest o),
due AS (
  SELECT w.run_id FROM agentplane.webhooks w JOIN placed p ON p.run_id = w.run_id
  WHERE p.place <= $3 AND w.state = 'pending' AND w.next_attempt_at <= clock_timestamp()
  LIMIT $1 FOR UPDATE OF w SKIP LOCKED)
UPDATE agentplane.webhooks w SET attempts = w.attempts + 1,
  next_attempt_at = clock_timestamp() + $4 * interval '1 millisecond'
FROM due WHERE w.run_id = due.run_id
RETURNING w.run_id, w.url, w.host, w.attempts, w.run, w.run_values::text AS values,
  (extract(epoch FROM clock_timestamp() - w.created_at) * 1000)::float8 AS age_ms`;

/** Takes calls that are due, those that wait longest first. */
export async function claimWebhooks(
  scope: WorkerScope,
  sql: Sql,
  { limit, perHost, busyHosts, leaseMs }: WebhookPlaces,
): Promise<DueWebhook[]> {
  const { rows } = await sql.asWorker<Row>(scope, {
    name: 'claim-webhooks',
    text: CLAIM,
    values: [limit, busyHosts, perHost, leaseMs],
  });
  return rows.map((row) => ({
    runId: row.run_id,
    url: row.url,
    host: row.host,
    attempt: row.attempts,
    ageMs: row.age_ms,
    run: row.run,
    values: row.values ?? undefined,
  }));
}
