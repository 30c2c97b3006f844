import type { Pool } from 'pg';
import type { CancelAction, RunStatus, WireRun } from './run-row.js';

interface RunColumns extends Omit<WireRun, 'created_at' | 'updated_at'> {
  created_at: Date;
  updated_at: Date;
  temporary: boolean;
  attempt: number;
  error: { error: string; message: string } | null;
}

/** A run as it stands in its row. */
export interface RunRecord {
  readonly wire: WireRun;
  readonly isTemporary: boolean;
  readonly attempt: number;
  readonly error: { readonly error: string; readonly message: string } | undefined;
}

const COLUMNS =
  'run_id, thread_id, assistant_id, created_at, updated_at, status, metadata, kwargs, multitask_strategy, temporary, attempt, error';

export const ENDED: readonly RunStatus[] = ['success', 'error', 'timeout', 'interrupted'];

function record(row: RunColumns): RunRecord {
  const { temporary, attempt, error, ...run } = row;
  return {
    wire: { ...run, created_at: run.created_at.toISOString(), updated_at: run.updated_at.toISOString() },
    isTemporary: temporary,
    attempt,
    error: error ?? undefined,
  };
}

/** Reading runs, and asking for their end. */
export class RunRecords {
  constructor(private readonly pool: Pool) {}

  async find(runId: string, threadId?: string): Promise<RunRecord | undefined> {
    const { rows } = await this.pool.query<RunColumns>(
      `SELECT ${COLUMNS} FROM agentplane.runs WHERE run_id = $1 AND ($2::uuid IS NULL OR thread_id = $2)`,
      [runId, threadId ?? null],
    );
    return rows[0] && record(rows[0]);
  }

  async listByIds(runIds: readonly string[]): Promise<RunRecord[]> {
    const { rows } = await this.pool.query<RunColumns>(
      `SELECT ${COLUMNS} FROM agentplane.runs WHERE run_id = ANY($1)`,
      [runIds],
    );
    return rows.map(record);
  }

  /** What somebody asked to become of a run. */
  async findCancel(runId: string): Promise<CancelAction | undefined> {
    const { rows } = await this.pool.query<{ cancel: CancelAction | null }>(
      'SELECT cancel FROM agentplane.runs WHERE run_id = $1',
      [runId],
    );
    return rows[0]?.cancel ?? undefined;
  }

  /** Newest first. */
  async list(
    threadId: string,
    page: { limit: number; offset: number; status: string | undefined },
  ): Promise<WireRun[]> {
    const { rows } = await this.pool.query<RunColumns>(
      `SELECT ${COLUMNS} FROM agentplane.runs WHERE thread_id = $1 AND ($2::text IS NULL OR status = $2)
       ORDER BY ordinal DESC LIMIT $3 OFFSET $4`,
      [threadId, page.status ?? null, page.limit, page.offset],
    );
    return rows.map((row) => record(row).wire);
  }

  /** `done`: it had not begun and never will; `asked`: the server at work will end it; `ended`: too late. */
  async cancel(
    runId: string,
    threadId: string,
    action: CancelAction,
  ): Promise<'done' | 'asked' | 'ended' | 'no_run'> {
    const { rows } = await this.pool.query<{ outcome: 'done' | 'asked' | 'ended' | 'no_run' }>(
      'SELECT outcome FROM agentplane.cancel_run($1, $2, $3)',
      [runId, threadId, action],
    );
    return rows[0]?.outcome ?? 'no_run';
  }

  /** Removes a run that has ended; answers whether there was one. */
  async remove(runId: string, threadId: string): Promise<boolean> {
    const { rowCount } = await this.pool.query(
      `DELETE FROM agentplane.runs WHERE run_id = $1 AND thread_id = $2 AND status NOT IN ('pending', 'running')`,
      [runId, threadId],
    );
    return rowCount === 1;
  }
}
