import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { DueWebhook } from './claim-webhooks.js';

/** Content of a call, as JSON texts that this server does not parse. */
export interface WebhookTexts {
  /** The run as its caller asked for it, the caller included. */
  readonly run: string;
  readonly values: string | undefined;
}

/** Undefined once another server has repeated the call. */
export async function readWebhook(
  scope: WorkerScope,
  sql: Sql,
  { runId, attempt }: Pick<DueWebhook, 'runId' | 'attempt'>,
): Promise<WebhookTexts | undefined> {
  const { rows } = await sql.asWorker<{ run: string; values: string | null }>(scope, {
    name: 'read-webhook',
    text: `SELECT run::text AS run, run_values::text AS values FROM agentplane.webhooks
      WHERE run_id = $1 AND attempts = $2 AND state = 'pending'`,
    values: [runId, attempt],
  });
  const [row] = rows;
  return row && { run: row.run, values: row.values ?? undefined };
}
