import type { Scope, WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';
import { visibleTo } from '../visible-to.js';

/** A thread that a caller wants to see. */
export interface ThreadQuestion {
  readonly scope: Scope;
  readonly threadId: string;
}

/**
 * Reads threads of several callers in one statement, each under its own scope.
 * @returns JSON text in the order of the questions; undefined for a thread that is missing or not visible,
 *   `large` for one that must be read alone
 */
export async function readThreads(
  scope: WorkerScope,
  sql: Sql,
  questions: readonly ThreadQuestion[],
): Promise<(string | 'large' | undefined)[]> {
  const { rows } = await sql.asWorker<{ place: string; thread: string | null }>(scope, {
    name: 'read-threads',
    text: 'SELECT place, thread FROM agentplane.read_threads($1, $2)',
    values: [
      questions.map(({ threadId }) => threadId),
      questions.map((question) => visibleTo(question.scope)),
    ],
  });
  const found = new Map(rows.map(({ place, thread }) => [Number(place) - 1, thread ?? 'large']));
  return questions.map((_question, place) => found.get(place));
}
