import type { Pool } from 'pg';
import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';
import type { RunKwargs } from '../run/run-request.js';
import { Batch } from './batch.js';
import { jsonbText, jsonText } from './json-text.js';
import { CLAIMED_COLUMNS, claimedRun, type ClaimedRun, type RunStatus } from './run-row.js';

/** A run that is to be made. */
export interface NewRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly graphId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kwargs: RunKwargs;
  readonly strategy: string;
  readonly delayMs: number;
  /** Whether this server has a free place and takes the run at once when nothing is before it. */
  readonly startHere: boolean;
  /** Whether a reader of this server waits for its output. */
  readonly isWatched: boolean;
}

export interface MadeRun {
  readonly status: Extract<RunStatus, 'pending' | 'running'>;
  readonly createdAt: Date;
}

const SUBMIT = `SELECT outcome, new_status, made_at
  FROM agentplane.submit_run($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;

const INSERT_TEMPORARY = `
INSERT INTO agentplane.runs (run_id, thread_id, temporary, assistant_id, graph_id, status, multitask_strategy, metadata,
  kwargs, start_after, attempt, server_id, lease_until, heartbeat_at, watchers)
SELECT n.run_id, n.thread_id, true, n.assistant_id, n.graph_id, CASE WHEN n.start_here THEN 'running' ELSE 'pending' END,
  'enqueue', n.metadata, n.kwargs, clock_timestamp() + n.delay_ms * interval '1 millisecond',
  CASE WHEN n.start_here THEN 1 ELSE 0 END, CASE WHEN n.start_here THEN $2::uuid END,
  CASE WHEN n.start_here THEN clock_timestamp() + $3 * interval '1 millisecond' END,
  CASE WHEN n.start_here THEN clock_timestamp() END,
  CASE WHEN n.is_watched THEN ARRAY[$2::uuid] ELSE '{}'::uuid[] END
FROM json_to_recordset($1::json) AS n(run_id uuid, thread_id uuid, assistant_id uuid, graph_id text, metadata jsonb,
  kwargs json, delay_ms bigint, start_here boolean, is_watched boolean)`;

const NOTIFY_PENDING = `SELECT pg_notify('agentplane', 'pending:')`;

/** The oldest runs that are due and alone on their thread; rows that another server just claims are passed over. */
const CLAIM = `
WITH due AS (
  SELECT r.run_id FROM agentplane.runs r
  WHERE r.status = 'pending' AND r.start_after <= clock_timestamp() AND r.graph_id = ANY($4) AND NOT EXISTS (
    SELECT 1 FROM agentplane.runs o WHERE o.thread_id = r.thread_id AND (o.status = 'running'
      OR (o.status = 'pending' AND o.ordinal < r.ordinal AND o.start_after <= clock_timestamp())))
  ORDER BY r.ordinal LIMIT $1 FOR UPDATE SKIP LOCKED)
UPDATE agentplane.runs r SET status = 'running', attempt = r.attempt + 1, server_id = $2, heartbeat_at = clock_timestamp(),
  lease_until = clock_timestamp() + $3 * interval '1 millisecond', updated_at = clock_timestamp()
FROM due WHERE r.run_id = due.run_id RETURNING ${CLAIMED_COLUMNS}, r.ordinal`;

/** Two servers that met on one thread: the index refused the second, who tries again later. */
const UNIQUE_VIOLATION = '23505';

function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNIQUE_VIOLATION;
}

/** How runs come into the queue and out of it. */
export class RunQueue {
  readonly #temporary = new Batch<NewRun, MadeRun>((runs) => this.#insertTemporary(runs));

  constructor(
    private readonly pool: Pool,
    private readonly serverId: string,
    private readonly leaseMs: number,
    /** Graphs of this revision: while another one is rolled out, its runs are left to its servers. */
    private readonly graphIds: readonly string[],
    private readonly clock: Clock,
  ) {}

  /**
   * Makes a run on a thread. It starts at once (`running`, the lease is ours) when asked and nothing is before it.
   * @throws PublicError `not_found` without such a thread, `conflict` when the strategy is `reject` and a run is active
   */
  async submit(run: NewRun, createThread: boolean): Promise<MadeRun> {
    try {
      return await this.#submit(run, createThread);
    } catch (error) {
      // Another server has just taken a delayed run of the thread: this one waits its turn
      if (run.startHere && isUniqueViolation(error))
        return await this.#submit({ ...run, startHere: false }, createThread);
      throw error;
    }
  }

  async #submit(run: NewRun, createThread: boolean): Promise<MadeRun> {
    const { rows } = await this.pool.query<{ outcome: string; new_status: MadeRun['status']; made_at: Date }>(
      {
        name: 'submit-run',
        text: SUBMIT,
        values: [
          run.runId,
          run.threadId,
          run.assistantId,
          run.graphId,
          jsonbText(run.metadata),
          jsonText(run.kwargs),
          run.strategy,
          run.delayMs,
          run.startHere ? this.serverId : null,
          this.leaseMs,
          run.isWatched ? this.serverId : null,
          createThread,
        ],
      },
    );
    const [made] = rows;
    if (made?.outcome === 'busy')
      throw new PublicError(
        'conflict',
        `Thread ${run.threadId} has an active run, and the multitask strategy of the new one is "reject"`,
      );
    if (made?.outcome !== 'created') throw new PublicError('not_found', `Thread ${run.threadId} not found`);
    return { status: made.new_status, createdAt: made.made_at };
  }

  /** Makes a run without a thread of its own. */
  submitTemporary(run: NewRun): Promise<MadeRun> {
    return this.#temporary.add(run);
  }

  async #insertTemporary(runs: readonly NewRun[]): Promise<MadeRun[]> {
    const rows = runs.map(
      (run) =>
        `{"run_id":"${run.runId}","thread_id":"${run.threadId}","assistant_id":"${run.assistantId}",` +
        `"graph_id":${JSON.stringify(run.graphId)},"metadata":${jsonbText(run.metadata)},` +
        `"kwargs":${jsonText(run.kwargs)},"delay_ms":${run.delayMs},"start_here":${run.startHere},` +
        `"is_watched":${run.isWatched}}`,
    );
    await this.pool.query({
      name: 'insert-temporary-runs',
      text: INSERT_TEMPORARY,
      values: [`[${rows.join(',')}]`, this.serverId, this.leaseMs],
    });
    if (runs.some((run) => !run.startHere)) void this.pool.query(NOTIFY_PENDING).catch(() => undefined);
    const createdAt = this.clock.now();
    return runs.map((run) => ({ status: run.startHere ? 'running' : 'pending', createdAt }));
  }

  /** Takes up to `limit` runs that are due, oldest first. */
  async claim(limit: number): Promise<ClaimedRun[]> {
    try {
      const { rows } = await this.pool.query<{ ordinal: string }>({
        name: 'claim-runs',
        text: CLAIM,
        values: [limit, this.serverId, this.leaseMs, this.graphIds],
      });
      return rows.sort((a, b) => Number(a.ordinal) - Number(b.ordinal)).map(claimedRun);
    } catch (error) {
      if (isUniqueViolation(error)) return [];
      throw error;
    }
  }
}
