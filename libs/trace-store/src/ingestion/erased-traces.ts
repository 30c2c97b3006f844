import type { Connection, Queryable } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import type { WaitingPatch } from './waiting-patches.js';

/** Time for which data of deleted traces is refused: longer than any upload takes, and than updates wait. */
const KEPT = '7 days';
/**
 * Duration of a claim: a process that died keeps others from its deletion for so long; a turn takes seconds.
 */
const CLAIM = '5 minutes';
/** Pause after a failure. */
const PAUSE = '5 minutes';
/** Pause after a conflict with others, which the next try may meet again. */
const SHORT_PAUSE = '1 second';
/** Tenants of one round. */
const TENANTS_AT_ONCE = 1_000;

/** A trace or thread that was deleted. */
export interface Erasure {
  readonly kind: 'trace' | 'thread';
  readonly id: string;
  readonly projectId: string;
}

/** A row of `erasedSql`. */
export interface ErasedRow {
  readonly kind: Erasure['kind'];
  readonly id: string;
  readonly project_id: string;
  readonly began_by: string | null;
}

/** Facts that are needed of a run that arrives. */
interface ArrivingRun {
  readonly projectId: string;
  readonly traceId: string | undefined;
  readonly threadId?: string | undefined;
  readonly startTime?: Instant | undefined;
}

/** The deleted traces and threads that a batch names. */
export class ErasedTraces {
  readonly #rows = new Map<string, Instant | undefined>();

  constructor(rows: readonly ErasedRow[]) {
    for (const { kind, id, project_id, began_by } of rows)
      this.#rows.set(
        keyOf(kind, id, project_id),
        began_by === null ? undefined : parseInstant(began_by, { zone: 'optional' }),
      );
  }

  has({ projectId, traceId, threadId, startTime }: ArrivingRun): boolean {
    if (traceId !== undefined && this.#rows.has(keyOf('trace', traceId, projectId))) return true;
    const beganBy = threadId === undefined ? undefined : this.#rows.get(keyOf('thread', threadId, projectId));
    return beganBy !== undefined && startTime !== undefined && startTime <= beganBy;
  }
}

function keyOf(kind: Erasure['kind'], id: string, projectId: string): string {
  return `${kind} ${projectId} ${id}`;
}

/** Erasures of the tenant `$1` with these ids, for parameters that are lists of texts. */
export function erasedSql(traceIds: string, threadIds: string): string {
  return `SELECT kind, id, project_id::text, began_by::text FROM trace_erasures WHERE tenant_id = $1
    AND (kind = 'trace' AND id = ANY (${traceIds}::text[]) OR kind = 'thread' AND id = ANY (${threadIds}::text[]))`;
}

/** The caller holds the tenant's lock, so that no deletion begins meanwhile. */
async function findErasedTraces(
  db: Queryable,
  tenantId: string,
  traceIds: readonly string[],
): Promise<ErasedTraces> {
  const { rows } = await db.query<ErasedRow>(erasedSql('$2', `'{}'`), [tenantId, [...new Set(traceIds)]]);
  return new ErasedTraces(rows);
}

/**
 * Records the intent. Sorted: two deletions of the same traces wait for one another instead of deadlocking.
 * @param beganBy of threads; undefined: now
 */
export async function recordErasures(
  db: Queryable,
  tenantId: string,
  erasures: readonly Erasure[],
  beganBy?: Instant,
): Promise<void> {
  await db.query(
    `INSERT INTO trace_erasures AS e (tenant_id, kind, id, project_id, began_by)
    SELECT $1, n.kind, n.id, n.project_id,
      CASE n.kind WHEN 'thread' THEN least(coalesce($5::timestamptz, clock_timestamp()), clock_timestamp()) END
    FROM unnest($2::text[], $3::text[], $4::uuid[]) AS n(kind, id, project_id) ORDER BY n.kind, n.id
    ON CONFLICT (tenant_id, kind, id, project_id) DO UPDATE
      SET is_done = false, erased_at = EXCLUDED.erased_at, began_by = greatest(e.began_by, EXCLUDED.began_by)`,
    [
      tenantId,
      erasures.map(({ kind }) => kind),
      erasures.map(({ id }) => id),
      erasures.map(({ projectId }) => projectId),
      beganBy === undefined ? null : formatInstant(beganBy),
    ],
  );
}

export async function settleErasures(
  db: Queryable,
  tenantId: string,
  erasures: readonly Erasure[],
): Promise<void> {
  await db.query(
    `UPDATE trace_erasures e SET is_done = true FROM unnest($2::text[], $3::text[], $4::uuid[]) AS n(kind, id, project_id)
    WHERE e.tenant_id = $1 AND e.kind = n.kind AND e.id = n.id AND e.project_id = n.project_id`,
    [
      tenantId,
      erasures.map(({ kind }) => kind),
      erasures.map(({ id }) => id),
      erasures.map(({ projectId }) => projectId),
    ],
  );
}

/** Deletions that a process began and did not complete: it died, or the database was unavailable. */
const LEFT = `NOT is_done AND erased_at < clock_timestamp() - interval '5 minutes'
  AND claimed_until < clock_timestamp()`;

/** Tenants that have such a deletion that no process is performing. */
export async function tenantsWithErasures(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM trace_erasures WHERE ${LEFT} LIMIT ${TENANTS_AT_ONCE}`,
  );
  return rows.map((row) => row.tenant_id);
}

/** Takes the oldest one of the tenant that no other process has. */
export async function claimErasure(db: Queryable, tenantId: string): Promise<Erasure | undefined> {
  const { rows } = await db.query<Omit<ErasedRow, 'began_by'>>(
    // materialized, so that one alone is claimed
    `WITH next AS MATERIALIZED (
      SELECT kind, id, project_id FROM trace_erasures WHERE tenant_id = $1 AND ${LEFT}
      ORDER BY erased_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE trace_erasures e SET claimed_until = clock_timestamp() + interval '${CLAIM}'
    FROM next n WHERE e.tenant_id = $1 AND e.kind = n.kind AND e.id = n.id AND e.project_id = n.project_id
    RETURNING e.kind, e.id, e.project_id`,
    [tenantId],
  );
  const [row] = rows;
  return row && { kind: row.kind, id: row.id, projectId: row.project_id };
}

/** Releases a claim that has not been completed: for the next turn, or for a later tidying. */
export async function releaseErasure(
  db: Queryable,
  tenantId: string,
  { kind, id, projectId }: Erasure,
  end: 'goes on' | 'conflicted' | 'failed',
): Promise<void> {
  await db.query(
    `UPDATE trace_erasures
    SET claimed_until = CASE $5 WHEN 'failed' THEN clock_timestamp() + interval '${PAUSE}'
      WHEN 'conflicted' THEN clock_timestamp() + interval '${SHORT_PAUSE}' ELSE '-infinity' END
    WHERE tenant_id = $1 AND kind = $2 AND id = $3 AND project_id = $4 AND NOT is_done`,
    [tenantId, kind, id, projectId, end],
  );
}

/** Forgets traces that were deleted so long ago that no more of their data arrives. */
export async function forgetOldErasures(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM trace_erasures WHERE is_done AND erased_at < clock_timestamp() - interval '${KEPT}'`,
  );
}

/**
 * Updates of unknown runs that may wait. One that may reach any project is not known to be of a deleted trace: it ends
 * by age.
 */
export async function patchesWithoutErased<T extends WaitingPatch>(
  client: Connection,
  tenantId: string,
  patches: readonly T[],
): Promise<readonly T[]> {
  const traceOf = ({ traceId, runId }: T): string => traceId ?? runId;
  const owned = patches.filter(({ projectId }) => projectId !== undefined);
  if (owned.length === 0) return patches;
  const erased = await findErasedTraces(client, tenantId, owned.map(traceOf));
  return patches.filter(
    (patch) =>
      patch.projectId === undefined || !erased.has({ projectId: patch.projectId, traceId: traceOf(patch) }),
  );
}
