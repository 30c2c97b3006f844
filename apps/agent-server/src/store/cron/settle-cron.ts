import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import type { DueCron } from './claim-cron.js';

/** Outcome of a fire. */
export interface CronResult {
  /** The run that it made. */
  readonly runId?: string;
  /** Reason for which it made no run. */
  readonly error?: string;
  readonly nextRunDate: Date | undefined;
  /** Reason for which it is disabled. */
  readonly disabledReason?: string;
}

const SETTLE = `
UPDATE agentplane.crons SET next_run_date = $3, last_run_id = COALESCE($4, last_run_id),
  last_run_date = CASE WHEN $4::uuid IS NULL THEN last_run_date ELSE next_run_date END, last_error = $5,
  enabled = enabled AND $6::text IS NULL, disabled_reason = $6, updated_at = clock_timestamp()
WHERE cron_id = $1 AND next_run_date = $2`;

/** Records a fire and sets the next one; does nothing when the cron was changed in the meantime. */
export async function settleCron(
  scope: WorkerScope,
  sql: Sql,
  { cronId, dueAt }: DueCron,
  { runId, error, nextRunDate, disabledReason }: CronResult,
): Promise<void> {
  await sql.asWorker(scope, {
    text: SETTLE,
    values: [
      cronId,
      dueAt,
      nextRunDate ?? null,
      runId ?? null,
      error ?? disabledReason ?? null,
      disabledReason ?? null,
    ],
  });
}
