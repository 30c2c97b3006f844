import { jsonText } from '../json-text.js';
import { noteWebhook, WAKE_WEBHOOKS, webhookValues } from '../row/webhook-row.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import type { Acceptance, RunEnd } from '../row/run-end.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

const FINISH = `SELECT accepted, has_next FROM agentplane.finish_run($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** The row is read as it was before the statement: a rollback removes it. */
const FINISH_WITH_WEBHOOK = `
WITH ended AS MATERIALIZED (${FINISH}),
noted AS (${noteWebhook({ url: '$10', status: '$4', error: '$5', values: '$11' })}
  FROM agentplane.runs r, ended WHERE ended.accepted AND r.run_id = $1 ${WAKE_WEBHOOKS})
SELECT accepted, has_next FROM ended LEFT JOIN noted ON true`;

/** Ends a run on a thread, and makes its webhook due; refused from an old attempt. */
export async function finishRun(
  scope: WorkerScope,
  sql: Sql,
  run: ClaimedRun,
  end: RunEnd,
): Promise<Acceptance> {
  const { webhook } = run;
  const ended = [
    run.runId,
    run.attempt,
    run.threadId,
    end.status,
    end.error ? jsonText(end.error) : null,
    end.isRollback ?? false,
    end.values ?? null,
    end.interrupts ?? null,
    end.threadStatus,
  ];
  const { rows } = await sql.asWorker<{ accepted: boolean; has_next: boolean }>(
    scope,
    webhook
      ? { text: FINISH_WITH_WEBHOOK, values: [...ended, webhook, webhookValues(end)] }
      : { name: 'finish-run', text: FINISH, values: ended },
  );
  return { isAccepted: rows[0]?.accepted ?? false, hasNext: rows[0]?.has_next ?? false };
}
