import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

/** The place of each thread's newest run, by thread; one without a run is left out. */
export async function listNewestPlaces(
  scope: WorkerScope,
  sql: Sql,
  threadIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql.asWorker<{ thread_id: string; ordinal: string }>(scope, {
    text: `SELECT f.thread_id, n.ordinal FROM unnest($1::uuid[]) AS f(thread_id), LATERAL (
      SELECT r.ordinal FROM agentplane.runs r WHERE r.thread_id = f.thread_id ORDER BY r.ordinal DESC LIMIT 1) n`,
    values: [threadIds],
  });
  return new Map(rows.map(({ thread_id: threadId, ordinal }) => [threadId, Number(ordinal)]));
}
