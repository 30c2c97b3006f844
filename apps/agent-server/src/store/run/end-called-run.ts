import { jsonText } from '../json-text.js';
import { endedTemporary, noOtherAttempt } from '../row/ended-temporary.js';
import type { RunEnd } from '../row/run-end.js';
import { noteWebhook, WAKE_WEBHOOKS, webhookValues } from '../row/webhook-row.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { TemporaryEnd } from './end-temporary-runs.js';

/** The end of a run without a thread, with the body of its webhook's call. */
export interface CalledEnd extends TemporaryEnd {
  readonly end: RunEnd;
}

/** The row is read as it was before the statement. */
const END = `
WITH ended AS MATERIALIZED (
  SELECT r.run_id FROM agentplane.runs r
  WHERE r.run_id = $1 AND r.attempt = $2 AND r.status = 'running' AND r.temporary FOR UPDATE),
kept AS (
  UPDATE agentplane.runs r SET ${endedTemporary('$4', '$5::json', '$8::boolean')} FROM ended
  WHERE r.run_id = ended.run_id AND $7::boolean),
removed AS (
  DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id AND NOT $7::boolean),
noted AS (${noteWebhook({ url: '$3', status: '$4', error: '$5', values: '$6' })}
  FROM agentplane.runs r JOIN ended ON ended.run_id = r.run_id ${WAKE_WEBHOOKS})
SELECT ended.run_id FROM ended LEFT JOIN noted ON true
UNION ALL SELECT $1 WHERE $9::boolean AND ${noOtherAttempt('$1', '$2')}`;

/** Ends a run without a thread and makes its webhook due; false from an old attempt. */
export async function endCalledRun(
  scope: WorkerScope,
  sql: Sql,
  { run, end, isRead, isRepeated }: CalledEnd,
): Promise<boolean> {
  const { rows } = await sql.asWorker(scope, {
    text: END,
    values: [
      run.runId,
      run.attempt,
      run.webhook,
      end.status,
      end.error ? jsonText(end.error) : null,
      webhookValues(end),
      isRead,
      run.isResumable,
      isRepeated,
    ],
  });
  return rows.length > 0;
}
