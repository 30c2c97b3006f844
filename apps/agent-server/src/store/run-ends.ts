import type { Pool } from 'pg';
import { Batch } from './batch.js';
import { jsonText } from './json-text.js';
import type { ClaimedRun, RunStatus } from './run-row.js';

/** How a run on a thread ended. */
export interface RunEnd {
  readonly status: Extract<RunStatus, 'success' | 'error' | 'interrupted'>;
  readonly threadStatus: 'idle' | 'interrupted' | 'error';
  readonly error?: { readonly error: string; readonly message: string };
  /** JSON text of the thread's values; undefined leaves them as they are. */
  readonly values?: string;
  readonly interrupts?: Readonly<Record<string, unknown>>;
  /** Forget the run and its checkpoints. */
  readonly isRollback?: boolean;
}

export interface Acceptance {
  /** False: a newer attempt has the run, and nothing was written. */
  readonly isAccepted: boolean;
  /** Another run waits on the thread. */
  readonly hasNext: boolean;
}

const FINISH = `SELECT accepted, has_next FROM agentplane.finish_run($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

// Rows are locked in one order everywhere, so that a renewal and a removal of the same runs cannot deadlock.
const REMOVE = `
WITH ended AS (
  SELECT r.run_id FROM agentplane.runs r JOIN unnest($1::uuid[], $2::int[]) AS e(run_id, attempt)
    ON r.run_id = e.run_id AND r.attempt = e.attempt
  WHERE r.status = 'running' AND r.temporary ORDER BY r.run_id FOR UPDATE OF r)
DELETE FROM agentplane.runs r USING ended WHERE r.run_id = ended.run_id RETURNING r.run_id`;

const HAND_BACK = `
UPDATE agentplane.runs r SET status = 'pending', server_id = NULL, lease_until = NULL, updated_at = clock_timestamp()
FROM unnest($1::uuid[], $2::int[]) AS b(run_id, attempt)
WHERE r.run_id = b.run_id AND r.attempt = b.attempt AND r.status = 'running'`;

/** How runs leave their server: ended, or handed back for another. Every statement is refused from an old attempt. */
export class RunEnds {
  readonly #removals = new Batch<ClaimedRun, Acceptance>((runs) => this.#remove(runs));

  constructor(private readonly pool: Pool) {}

  async finish(run: ClaimedRun, end: RunEnd): Promise<Acceptance> {
    if (run.isTemporary) return this.#removals.add(run);
    const { rows } = await this.pool.query<{ accepted: boolean; has_next: boolean }>({
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

  async #remove(runs: readonly ClaimedRun[]): Promise<Acceptance[]> {
    const { rows } = await this.pool.query<{ run_id: string }>({
      name: 'remove-temporary-runs',
      text: REMOVE,
      values: [runs.map((run) => run.runId), runs.map((run) => run.attempt)],
    });
    const removed = new Set(rows.map((row) => row.run_id));
    return runs.map((run) => ({ isAccepted: removed.has(run.runId), hasNext: false }));
  }

  /** Puts runs back into the queue, where any server may take them as the next attempt. */
  async handBack(runs: readonly ClaimedRun[]): Promise<void> {
    if (runs.length === 0) return;
    await this.pool.query(HAND_BACK, [runs.map((run) => run.runId), runs.map((run) => run.attempt)]);
    await this.pool.query(`SELECT pg_notify('agentplane', 'pending:')`);
  }
}
