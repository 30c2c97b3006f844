import { claimable } from '../row/claimed-run.js';
import type { WorkerScope } from '../scope.js';
import type { ServerIdentity } from '../server-identity.js';
import type { Sql } from '../sql.js';

const COUNT_QUEUED = `SELECT count(*)::int AS count FROM agentplane.runs r WHERE ${claimable('$1')}`;

/** Number of runs that would begin at once if this server had places for them; for metrics. */
export async function countQueuedRuns(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
): Promise<number> {
  const { rows } = await sql.asWorker<{ count: number }>(scope, { text: COUNT_QUEUED, values: [graphIds] });
  return rows[0]?.count ?? 0;
}

/** Limit of the count: no deployment has pods for more. */
const MOST_COUNTED = 10_000;

const COUNT_LOAD = `
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
    text: COUNT_LOAD,
    values: [graphIds, MOST_COUNTED],
  });
  const [{ waiting, at_work: atWork } = { waiting: 0, at_work: 0 }] = rows;
  return { waiting, atWork };
}

/** Work of the servers of a deployment, now and later. */
export interface NextWork {
  /** True when a run is in progress at one of them. */
  readonly isAtWork: boolean;
  /**
   * Milliseconds until work is due by the database's time, negative for overdue work; undefined: none will
   * be.
   */
  readonly dueInMs: number | undefined;
  /** The same for work that may be late: expired threads and items. */
  readonly upkeepInMs: number | undefined;
}

interface Row {
  readonly at_work: boolean;
  readonly due_in_ms: number | null;
  readonly upkeep_in_ms: number | null;
}

const until = (moment: string): string =>
  `(EXTRACT(EPOCH FROM ${moment} - clock_timestamp()) * 1000)::float8`;

/**
 * Each part is one lookup in an index, except for runs that wait. Runs and crons of other revisions' graphs
 * wait for those.
 */
const NEXT = `
SELECT EXISTS (SELECT 1 FROM agentplane.runs r WHERE r.status = 'running') AS at_work,
  ${until('w.due')} AS due_in_ms, ${until('w.upkeep')} AS upkeep_in_ms
FROM (SELECT
  least(
    (SELECT min(r.start_after) FROM agentplane.runs r WHERE r.status = 'pending' AND r.graph_id = ANY ($1)),
    (SELECT c.next_run_date FROM agentplane.crons c LEFT JOIN agentplane.assistants a ON a.assistant_id = c.assistant_id
      WHERE c.enabled AND c.next_run_date IS NOT NULL AND (a.graph_id IS NULL OR a.graph_id = ANY ($1))
      ORDER BY c.next_run_date LIMIT 1),
    (SELECT min(h.next_attempt_at) FROM agentplane.webhooks h WHERE h.state = 'pending'),
    (SELECT min(e.next_attempt_at) FROM agentplane.trace_erasures e WHERE $2)) AS due,
  least(
    (SELECT min(x.check_at) FROM agentplane.thread_ttls x),
    (SELECT min(i.expires_at) FROM agentplane.store_items i WHERE i.expires_at IS NOT NULL)) AS upkeep) w`;

/**
 * Finds the next work: runs, crons, webhooks, erasures of traces.
 * @param erases whether the servers erase traces at the platform; work that they cannot do wakes none
 */
export async function findNextWork(
  scope: WorkerScope,
  sql: Sql,
  { graphIds }: ServerIdentity,
  erases: boolean,
): Promise<NextWork> {
  const { rows } = await sql.asWorker<Row>(scope, { text: NEXT, values: [graphIds, erases] });
  const [row] = rows;
  return {
    isAtWork: row?.at_work ?? false,
    dueInMs: row?.due_in_ms ?? undefined,
    upkeepInMs: row?.upkeep_in_ms ?? undefined,
  };
}
