import { errorText } from '#lib/errors';
import { mayPass, type Pool, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { type Clock, formatInstant, parseInstant } from '#lib/time';
import { TraceEraser } from '../erasure/trace-eraser.js';
import { TenantRounds, type TenantWork } from '../in-turns.js';
import { forgetOldErasures } from '../ingestion/erased-traces.js';
import { removeDaysOfProject } from '../sealing/lake-segments.js';
import { eachStep } from '../limited-read.js';
import {
  claimDeletion,
  type ClaimEnd,
  endClaim,
  forgetOldDeletions,
  tenantsWithDeletions,
} from '../project/project-deletions.js';
import { removeAttachmentsOfProject, REMOVED_AT_ONCE, type RunRemover } from '../run/remove-runs.js';
import type { RunPlace } from '../run/stored-run.js';
import { dropEmptyDays, ExpiredRemoval } from './expired-removal.js';

/** Pieces per turn. */
const PIECES = 5;

/**
 * Conditions for rows of a project ($2) that belong to no run, by table; a feature that has such rows has a
 * line here. The tables are not partitioned: rows are found by their place.
 */
const ROWS = [
  ['feedback', 'project_id = $2'],
  ['feedback', 'waits_since IS NOT NULL AND named_project_id = $2'],
  ['unplaced_runs', 'project_id = $2'],
  ['run_patches_waiting', 'project_id = $2'],
  // after its runs were subtracted
  ['run_statistics', 'project_id = $2 AND span = 0'],
  ['run_statistics', 'project_id = $2 AND span > 0'],
  ['trace_shares', 'project_id = $2'],
  ['price_applications', 'project_id = $2'],
  ['ingest_problems', 'project_id = $2'],
  ['ingest_problem_counts', 'project_id = $2'],
] as const;

/** Removes the remaining rows of projects that were deleted. */
class ProjectRemoval implements TenantWork {
  readonly what = 'removing rows of deleted projects';
  /** The last run that was removed, by project: rows before it are not searched again. */
  readonly #reached = new Map<string, RunPlace>();

  constructor(
    private readonly pool: Pool,
    private readonly remover: RunRemover,
    private readonly log: Logger,
  ) {}

  tenants(): Promise<readonly string[]> {
    return tenantsWithDeletions(this.pool);
  }

  async turn(tenantId: string): Promise<'troubled' | undefined> {
    const projectId = await claimDeletion(this.pool, tenantId);
    if (projectId === undefined) return undefined;
    let isTroubled = false;
    let end: ClaimEnd = 'failed';
    try {
      end = await this.#removeSome(tenantId, projectId);
    } catch (error) {
      isTroubled = mayPass(error);
      if (isTroubled) end = 'goes on';
      const problem = errorText(error);
      this.log.error({ tenantId, projectId, problem }, 'removing a deleted project failed; retrying later');
    }
    if (end !== 'goes on') this.#reached.delete(projectId);
    await endClaim(this.pool, tenantId, projectId, end);
    return isTroubled ? 'troubled' : undefined;
  }

  async #removeSome(tenantId: string, projectId: string): Promise<ClaimEnd> {
    for (let piece = 0; piece < PIECES; piece++) {
      const found = await this.#nextRuns(tenantId, projectId);
      if (found.length === 0) return (await this.#removeRest(tenantId, projectId)) ? 'completed' : 'goes on';
      await this.remover.removeAt(found);
      const last = found.at(-1);
      if (last) this.#reached.set(projectId, last);
    }
    return 'goes on';
  }

  /**
   * Runs after the last ones; from the first on, when none are left: other processes may have been at work,
   * too.
   */
  async #nextRuns(tenantId: string, projectId: string): Promise<readonly RunPlace[]> {
    const after = this.#reached.get(projectId);
    if (after === undefined) return findRuns(this.pool, { tenantId, projectId });
    const found = await findRuns(this.pool, { tenantId, projectId }, after);
    if (found.length > 0) return found;
    this.#reached.delete(projectId);
    return findRuns(this.pool, { tenantId, projectId });
  }

  /** @returns whether nothing is left */
  async #removeRest(tenantId: string, projectId: string): Promise<boolean> {
    for (const [table, condition] of ROWS) {
      const { rowCount } = await this.pool.query(
        `DELETE FROM ${table} WHERE tenant_id = $1 AND ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE tenant_id = $1 AND ${condition} LIMIT ${REMOVED_AT_ONCE}))`,
        [tenantId, projectId],
      );
      if (rowCount === REMOVED_AT_ONCE) return false;
    }
    // attachments that wait for their runs are removed too
    await removeAttachmentsOfProject(this.pool, tenantId, projectId);
    await removeDaysOfProject(this.pool, tenantId, projectId);
    return true;
  }
}

/** Some runs of the project in the order of the primary key. */
async function findRuns(
  pool: Pool,
  { tenantId, projectId }: Pick<RunPlace, 'tenantId' | 'projectId'>,
  after?: RunPlace,
): Promise<readonly RunPlace[]> {
  const { rows } = await pool.query<{ id: string; trace_id: string; start_time: string }>({
    text: `SELECT id, trace_id, start_time FROM runs WHERE tenant_id = $1 AND project_id = $2
      ${after ? 'AND start_time >= $3 AND (start_time, id, trace_id) > ($3, $4, $5)' : ''}
      ORDER BY start_time, id, trace_id LIMIT ${REMOVED_AT_ONCE}`,
    values: [
      tenantId,
      projectId,
      ...(after ? [formatInstant(after.startTime), after.id, after.traceId] : []),
    ],
    types: textTypes,
  });
  return rows.map((row) => ({
    tenantId,
    projectId,
    id: row.id,
    traceId: row.trace_id,
    startTime: parseInstant(row.start_time, { zone: 'optional' }) ?? 0n,
  }));
}

interface RemovalParts {
  readonly pool: Pool;
  readonly remover: RunRemover;
  readonly log: Logger;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
}

/** All that removes runs: by name, with their projects, by age. */
export class Removals {
  readonly eraser: TraceEraser;
  readonly #erasures: TenantRounds;
  readonly #projects: TenantRounds;
  readonly #expired: TenantRounds;

  constructor(private readonly parts: RemovalParts) {
    const { pool, remover, log, clock } = parts;
    this.eraser = new TraceEraser(pool, remover, log);
    this.#erasures = new TenantRounds(this.eraser, log, clock);
    this.#projects = new TenantRounds(new ProjectRemoval(pool, remover, log), log, clock);
    this.#expired = new TenantRounds(new ExpiredRemoval(pool, remover, log), log, clock);
  }

  /** Begins the removal of a project's rows, after the project was deleted. */
  begin(): void {
    this.#projects.begin();
  }

  /** Completes removals that any process has begun, and removes expired runs. */
  async complete(): Promise<void> {
    const { pool, log } = this.parts;
    await eachStep([
      () => this.#erasures.complete(),
      () => forgetOldErasures(pool),
      () => this.#projects.complete(),
      () => forgetOldDeletions(pool),
      () => this.#expired.complete(),
      () => dropEmptyDays(pool, log),
    ]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#erasures.close(), this.#projects.close(), this.#expired.close()]);
  }
}
