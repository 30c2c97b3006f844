import type { WireWebhook } from '../row/webhook-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';

interface Row extends Omit<WireWebhook, 'next_attempt_at'> {
  readonly next_attempt_at: Date | null;
}

/** Delivery state of the call for a run; undefined before the run has ended, and a week after the call. */
export async function findWebhook(scope: Scope, sql: Sql, runId: string): Promise<WireWebhook | undefined> {
  const { rows } = await sql.inScope<Row>(scope, {
    text: `SELECT r.url, r.state, r.attempts, r.next_attempt_at, r.last_error FROM agentplane.webhooks r
      WHERE r.run_id = $2 AND ${RUN_IS_VISIBLE}`,
    values: [runId],
  });
  const [row] = rows;
  return row && { ...row, next_attempt_at: row.next_attempt_at?.toISOString() ?? null };
}
