/** The attempt of a run that writes. */
export interface Fence {
  readonly runId: string;
  readonly attempt: number;
}

/**
 * The row of the run as long as this attempt has it: `$1` is the run, `$2` the attempt. The shared lock makes a take-over
 * wait for the statement, and the statement see a take-over.
 */
export const FENCE = `fence AS MATERIALIZED (
  SELECT 1 FROM agentplane.runs WHERE run_id = $1 AND attempt = $2 AND status = 'running' FOR SHARE)`;
