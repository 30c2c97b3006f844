import { claimable } from '../row/claimable.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

/** Limit of the count: no deployment has pods for more. */
const MOST_COUNTED = 10_000;

const COUNT = `
SELECT (SELECT count(*) FROM (SELECT 1 FROM agentplane.runs r WHERE ${claimable('$1')} LIMIT $2) waiting)::int AS waiting,
  (SELECT count(*) FROM agentplane.runs r WHERE r.status = 'running')::int AS at_work`;

/**
 * Number of runs that would begin at once if a server had places for them, up to a bound, and of running
 * ones, at all servers.
 */
export async function countRunLoad(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
): Promise<{ readonly waiting: number; readonly atWork: number }> {
  const { rows } = await sql.asWorker<{ waiting: number; at_work: number }>(scope, {
    text: COUNT,
    values: [graphIds, MOST_COUNTED],
  });
  const [{ waiting, at_work: atWork } = { waiting: 0, at_work: 0 }] = rows;
  return { waiting, atWork };
}
