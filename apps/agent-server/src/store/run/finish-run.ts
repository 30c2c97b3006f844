import { jsonText } from '../json-text.js';
import type { ClaimedRun } from '../row/claimed-run.js';
import type { Acceptance, RunEnd } from '../row/run-end.js';
import type { WorkerScope } from '../scope.js';
import type { Sql } from '../sql.js';

const FINISH = `SELECT accepted, has_next FROM agentplane.finish_run($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** Ends a run on a thread; refused from an old attempt. */
export async function finishRun(
  scope: WorkerScope,
  sql: Sql,
  run: ClaimedRun,
  end: RunEnd,
): Promise<Acceptance> {
  const { rows } = await sql.asWorker<{ accepted: boolean; has_next: boolean }>(scope, {
    name: 'finish-run',
    text: FINISH,
    values: [
      run.runId,
      run.attempt,
      run.threadId,
      end.status,
      end.error ? jsonText(end.error) : null,
      end.isRollback ?? false,
      end.values ?? null,
      end.interrupts ? jsonText(end.interrupts) : null,
      end.threadStatus,
    ],
  });
  return { isAccepted: rows[0]?.accepted ?? false, hasNext: rows[0]?.has_next ?? false };
}
