import { jsonText } from '../json-text.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import { endedTemporary, noOtherAttempt } from '../row/ended-temporary.js';
import type { RunEnd } from '../row/run-end.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The end of a run without a thread. */
export interface TemporaryEnd {
  readonly run: ClaimedRun;
  readonly end: Pick<RunEnd, 'status' | 'error'>;
  /** Its output may still be read: the row stays for a while, without its input. */
  readonly isRead: boolean;
  /**
   * True when an earlier request got no answer: then a row that is already removed counts as removed by that
   * request.
   */
  readonly isRepeated: boolean;
}

// Rows are locked in one order everywhere, so that a renewal and a removal of the same runs cannot deadlock.
const END = `
WITH ended AS (
  SELECT r.run_id, e.status, e.error, e.is_read, e.resumable FROM agentplane.runs r
    JOIN unnest($1::uuid[], $2::int[], $3::text[], $4::json[], $5::boolean[], $6::boolean[])
      AS e(run_id, attempt, status, error, is_read, resumable) ON r.run_id = e.run_id AND r.attempt = e.attempt
  WHERE r.status = 'running' AND r.temporary ORDER BY r.run_id FOR UPDATE OF r),
kept AS (
  UPDATE agentplane.runs r SET ${endedTemporary('ended.status', 'ended.error', 'ended.resumable')}
  FROM ended WHERE r.run_id = ended.run_id AND ended.is_read RETURNING r.run_id),
removed AS (
  DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id AND NOT ended.is_read RETURNING r.run_id)
SELECT run_id FROM kept UNION ALL SELECT run_id FROM removed
UNION ALL SELECT e.run_id FROM unnest($1::uuid[], $2::int[], $7::boolean[]) AS e(run_id, attempt, is_repeated)
  WHERE e.is_repeated AND ${noOtherAttempt('e.run_id', 'e.attempt')}`;

/**
 * Ends runs without a thread.
 * @returns the ids of those ended; newer attempts have the others
 */
export async function endTemporaryRuns(
  scope: WorkerScope,
  sql: Sql,
  ends: readonly TemporaryEnd[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql.asWorker<{ run_id: string }>(scope, {
    name: 'end-temporary-runs',
    text: END,
    values: [
      ends.map(({ run }) => run.runId),
      ends.map(({ run }) => run.attempt),
      ends.map(({ end }) => end.status),
      ends.map(({ end }) => (end.error ? jsonText(end.error) : null)),
      ends.map(({ isRead }) => isRead),
      ends.map(({ run }) => run.isResumable),
      ends.map(({ isRepeated }) => isRepeated),
    ],
  });
  return new Set(rows.map((row) => row.run_id));
}
