/**
 * Changes to the row `r` of a run without a thread that has ended while its output may still be read: it
 * stays for a while, without its input. The arguments are SQL.
 */
export function endedTemporary(status: string, error: string, isResumable: string): string {
  return `status = ${status}, error = ${error}, lease_until = NULL, ended_at = clock_timestamp(),
    updated_at = clock_timestamp(), kwargs = json_build_object('resumable', ${isResumable})`;
}

/**
 * SQL: true when a repeated end may have been recorded by a try whose answer was lost: no newer attempt has
 * the run. The arguments are SQL.
 */
export function noOtherAttempt(runId: string, attempt: string): string {
  return `NOT EXISTS (SELECT FROM agentplane.runs r WHERE r.run_id = ${runId} AND r.attempt <> ${attempt})`;
}
