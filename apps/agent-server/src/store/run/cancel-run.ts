import type { CancelAction } from '../row/run-row.js';
import type { Scope } from '../scope.js';
import type { Sql } from '../sql.js';

/** `done`: it had not begun and never will; `asked`: the server at work will end it; `ended`: too late. */
export type CancelOutcome = 'done' | 'asked' | 'ended' | 'no_run';

/** Ends a waiting run; asks the executing server to end a running one. */
export async function cancelRun(
  scope: Scope,
  sql: Sql,
  runId: string,
  threadId: string,
  action: CancelAction,
): Promise<CancelOutcome> {
  const { rows } = await sql.inScope<{ outcome: CancelOutcome }>(scope, {
    text: 'SELECT outcome FROM agentplane.cancel_run($1::jsonb[], $2, $3, $4)',
    values: [runId, threadId, action],
    locks: threadId,
  });
  return rows[0]?.outcome ?? 'no_run';
}
