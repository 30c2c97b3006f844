import { CALLER_OF_RUN } from '../row/run-outline.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';
import { RUN_IS_VISIBLE } from '../visible.js';
import type { RunLimits } from './claim-limited-runs.js';

/**
 * Reason for which a pending run waits: its time, another run of its thread, a limit, or a server with a free
 * place.
 */
export type Obstacle = 'time' | 'thread' | 'assistant_limit' | 'caller_limit' | 'server';

const FIND = `
SELECT CASE
  WHEN r.start_after > clock_timestamp() THEN 'time'
  WHEN EXISTS (SELECT 1 FROM agentplane.runs o WHERE o.thread_id = r.thread_id AND (o.status = 'running'
    OR (o.status = 'pending' AND o.ordinal < r.ordinal AND o.start_after <= clock_timestamp()))) THEN 'thread'
  WHEN $3::int > 0 AND (SELECT count(*) FROM agentplane.runs o
    WHERE o.status = 'running' AND o.assistant_id = r.assistant_id) >= $3 THEN 'assistant_limit'
  WHEN $4::int > 0 AND (SELECT count(*) FROM (SELECT ${CALLER_OF_RUN} AS caller FROM agentplane.runs r
    WHERE r.status = 'running') o WHERE o.caller = ${CALLER_OF_RUN}) >= $4 THEN 'caller_limit'
  ELSE 'server' END AS obstacle
FROM agentplane.runs r WHERE r.run_id = $2 AND r.status = 'pending' AND ${RUN_IS_VISIBLE}`;

/** Undefined for a run that does not wait. */
export async function findObstacle(
  scope: Scope,
  sql: Sql,
  runId: string,
  { perAssistant, perCaller }: RunLimits,
): Promise<Obstacle | undefined> {
  const { rows } = await sql.inScope<{ obstacle: Obstacle }>(scope, {
    text: FIND,
    values: [runId, perAssistant, perCaller],
  });
  return rows[0]?.obstacle;
}
