import { jsonText } from '../json-text.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import type { RunEnd } from '../row/run-end.js';
import { noteWebhook, WAKE_WEBHOOKS, webhookValues } from '../row/webhook-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The row is read as it was before the statement. */
const END = `
WITH gone AS MATERIALIZED (
  DELETE FROM agentplane.runs r
  WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running' AND r.temporary RETURNING r.run_id),
noted AS (${noteWebhook({ url: '$3', status: '$4', error: '$5', values: '$6' })}
  FROM agentplane.runs r JOIN gone ON gone.run_id = r.run_id ${WAKE_WEBHOOKS})
SELECT gone.run_id FROM gone LEFT JOIN noted ON true`;

/** Ends a run without a thread and makes its webhook due; false from an old attempt. */
export async function endCalledRun(
  scope: WorkerScope,
  sql: Sql,
  run: ClaimedRun,
  end: RunEnd,
): Promise<boolean> {
  const { rows } = await sql.asWorker(scope, {
    text: END,
    values: [
      run.runId,
      run.attempt,
      run.kwargs.webhook,
      end.status,
      end.error ? jsonText(end.error) : null,
      webhookValues(end),
    ],
  });
  return rows.length > 0;
}
