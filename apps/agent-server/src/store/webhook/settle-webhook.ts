import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { DueWebhook } from './claim-webhooks.js';

/** Outcome of an attempt to call. */
export type WebhookResult =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'again'; readonly pauseMs: number; readonly error: string }
  | { readonly kind: 'failed'; readonly error: string };

const SETTLE = `
UPDATE agentplane.webhooks SET state = $3, last_error = $4,
  next_attempt_at = CASE WHEN $3 = 'pending' THEN clock_timestamp() + $5 * interval '1 millisecond' END,
  settled_at = CASE WHEN $3 <> 'pending' THEN clock_timestamp() END,
  run = CASE WHEN $3 = 'pending' THEN run END, run_values = CASE WHEN $3 = 'pending' THEN run_values END
WHERE run_id = $1 AND attempts = $2 AND state = 'pending'`;

/** Records an attempt; its body is forgotten after the last one. Refused from an old attempt. */
export async function settleWebhook(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: DueWebhook,
  result: WebhookResult,
): Promise<void> {
  await sql.asWorker(scope, {
    text: SETTLE,
    values: [
      runId,
      attempt,
      result.kind === 'again' ? 'pending' : result.kind,
      result.kind === 'delivered' ? null : result.error,
      result.kind === 'again' ? result.pauseMs : null,
    ],
  });
}
