import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { inTransaction, type Pool } from '#lib/postgres';
import { deletedProjects } from '../project/project-deletions.js';

/** A trace that every holder of the token may read. */
export interface SharedTrace {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly token: string;
}

/**
 * A run to share. Clients choose the ids of runs, so one id may occur in several traces: the other members
 * select one.
 */
interface RunToShare {
  readonly id: string;
  readonly projectId?: string | undefined;
  readonly traceId?: string | undefined;
}

interface Row {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly trace_id: string;
  readonly token: string;
}

/** Keys of the run `$2`. Rows of deleted projects are excluded. */
const KEYS = `run_keys k WHERE k.tenant_id = $1 AND k.id = $2 AND k.project_id <> ALL (${deletedProjects('$1')})`;
const OF_PROJECT = '($3::uuid IS NULL OR k.project_id = $3)';
const IS_ITS = 's.tenant_id = k.tenant_id AND s.trace_id = k.trace_id AND s.project_id = k.project_id';

/**
 * Traces that are shared by links. A share is removed with the runs of its trace.
 * The table `trace_shares`.
 */
export class ShareTable {
  constructor(private readonly pool: Pool) {}

  /**
   * Shares the trace of a run, or answers the share that it has; undefined when the run does not exist.
   * @throws PublicError conflict when the run is in several such traces
   */
  async share(
    tenantId: string,
    { id, projectId, traceId }: RunToShare,
  ): Promise<{ readonly token: string } | undefined> {
    return inTransaction(this.pool, async (client) => {
      // locked: a transaction that deletes the run waits, and finds the share
      const { rows: keys } = await client.query<Pick<Row, 'project_id' | 'trace_id'>>(
        `SELECT k.project_id, k.trace_id FROM ${KEYS} AND ${OF_PROJECT} AND ($4::uuid IS NULL OR k.trace_id = $4)
        ORDER BY k.trace_id LIMIT 2 FOR KEY SHARE`,
        [tenantId, id, projectId ?? null, traceId ?? null],
      );
      const [key] = keys;
      if (!key) return undefined;
      if (keys.length > 1) throw severalTraces(id, 'several traces');
      const { rows } = await client.query<{ token: string }>(
        `INSERT INTO trace_shares AS s (tenant_id, project_id, trace_id, token) VALUES ($1, $2, $3, $4)
        ON CONFLICT (tenant_id, trace_id, project_id) DO UPDATE SET token = s.token RETURNING token`,
        [tenantId, key.project_id, key.trace_id, randomUUID()],
      );
      return rows[0];
    });
  }

  /**
   * The token of a run's trace, if it is shared; undefined when the run does not exist.
   * @throws PublicError conflict when the run is in several shared traces
   */
  async find(tenantId: string, runId: string): Promise<{ readonly token: string | undefined } | undefined> {
    const { rows } = await this.pool.query<{ is_known: boolean; tokens: readonly string[] }>(
      `SELECT EXISTS (SELECT FROM ${KEYS}) AS is_known, ARRAY(
        SELECT s.token::text FROM trace_shares s WHERE s.tenant_id = $1 AND EXISTS (SELECT FROM ${KEYS} AND ${IS_ITS})
        LIMIT 2
      ) AS tokens`,
      [tenantId, runId],
    );
    const [found] = rows;
    if (!found?.is_known) return undefined;
    if (found.tokens.length > 1) throw severalTraces(runId, 'several shared traces');
    return { token: found.tokens[0] };
  }

  /**
   * Ends the shares of all traces that the run is in, and of the trace of this id, whose root may not have
   * arrived; limited to the project if one is named. Their tokens are invalid from then on.
   * @returns false when the run does not exist
   */
  async unshare(tenantId: string, { id, projectId }: Omit<RunToShare, 'traceId'>): Promise<boolean> {
    const { rows } = await this.pool.query<{ is_known: boolean }>(
      `WITH gone AS (
        DELETE FROM trace_shares s WHERE s.tenant_id = $1 AND ($3::uuid IS NULL OR s.project_id = $3)
          AND (s.trace_id = $2 OR EXISTS (SELECT FROM ${KEYS} AND ${IS_ITS})) RETURNING s.trace_id
      ) SELECT EXISTS (SELECT FROM gone) OR EXISTS (SELECT FROM ${KEYS} AND ${OF_PROJECT}) AS is_known`,
      [tenantId, id, projectId ?? null],
    );
    return rows[0]?.is_known === true;
  }

  /**
   * The trace that a token shares.
   * The one statement that names no tenant: the token is all that its sender has.
   */
  async open(token: string): Promise<SharedTrace | undefined> {
    const { rows } = await this.pool.query<Row>(
      `SELECT tenant_id, project_id, trace_id, token FROM trace_shares s WHERE token = $1
        AND NOT EXISTS (SELECT FROM project_deletions d WHERE d.tenant_id = s.tenant_id AND d.project_id = s.project_id)`,
      [token],
    );
    const [row] = rows;
    return (
      row && { tenantId: row.tenant_id, projectId: row.project_id, traceId: row.trace_id, token: row.token }
    );
  }
}

export type Shares = Pick<ShareTable, keyof ShareTable>;

function severalTraces(runId: string, where: string): PublicError {
  return new PublicError(
    'conflict',
    `finding the link of the run ${runId} failed: the run stands in ${where}; name its session_id or trace_id in POST /api/v2/runs/${runId}/share, which answers the link of that trace`,
  );
}
