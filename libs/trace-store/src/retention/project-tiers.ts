import { inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { type Clock, formatInstant } from '#lib/time';
import { findPlaces } from '../run/run-keys.js';
import { timeBounds } from '../run/stored-run.js';
import { DEFAULT_TIER, isTraceTier, type TraceTier } from './trace-tier.js';

/** Runs that get the tier at once: a trace is kept as long as any of them says, and the others follow when they would expire. */
const AT_ONCE = 1_000;

/**
 * Makes a trace longlived, in a transaction of its own.
 * @returns false when nothing of the trace is stored
 */
export async function upgradeTrace(pool: Pool, tenantId: string, traceId: string): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `SELECT id FROM run_keys WHERE tenant_id = $1 AND trace_id = $2 ORDER BY id LIMIT ${AT_ONCE}`,
      [tenantId, traceId],
    );
    // an update that reads its run now would write the former tier again
    const found = await findPlaces(
      client,
      tenantId,
      rows.map(({ id }) => ({ id, traceId })),
      { lock: true },
    );
    const places = found.filter((place) => place !== undefined);
    if (places.length === 0) return false;
    await client.query(
      `UPDATE runs r SET trace_tier = 'longlived', changed_in = pg_current_xact_id()
      FROM unnest($5::uuid[], $6::timestamptz[], $7::uuid[]) AS k(project_id, start_time, id)
      WHERE r.tenant_id = $1 AND r.trace_id = $2 AND r.start_time >= $3 AND r.start_time <= $4
        AND r.project_id = k.project_id AND r.start_time = k.start_time AND r.id = k.id AND r.trace_tier <> 'longlived'`,
      [
        tenantId,
        traceId,
        ...timeBounds(places),
        places.map(({ projectId }) => projectId),
        places.map(({ startTime }) => formatInstant(startTime)),
        places.map(({ id }) => id),
      ],
    );
    return true;
  });
}

/** Makes those of these traces longlived that have shortlived runs. */
export async function upgradeTraces(pool: Pool, tenantId: string, traceIds: Iterable<string>): Promise<void> {
  const all = [...new Set(traceIds)];
  if (all.length === 0) return;
  const { rows } = await pool.query<{ id: string }>(
    `SELECT t.id FROM unnest($2::uuid[]) AS t(id) WHERE EXISTS (
      SELECT FROM (SELECT * FROM run_keys WHERE tenant_id = $1 AND trace_id = t.id LIMIT ${AT_ONCE}) k
      CROSS JOIN LATERAL (
        SELECT FROM runs r WHERE r.tenant_id = $1 AND r.project_id = k.project_id AND r.start_time = k.start_time
          AND r.id = k.id AND r.trace_id = k.trace_id AND r.trace_tier = 'shortlived' LIMIT 1
      ) s
    )`,
    [tenantId, all],
  );
  for (const { id } of rows) await upgradeTrace(pool, tenantId, id);
}

/** Projects that are remembered; a memory of more begins anew. */
const MAX_KNOWN = 10_000;
/** Another process may change the tier. */
const KNOWN_FOR_MS = 30_000;

/** Remembers which tier the runs of a project get that name none, so that a batch costs no query for it. */
export class ProjectTiers {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #known = new Map<string, { readonly tier: TraceTier; readonly untilMs: number }>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** @returns the tier by the id of the project */
  async read(
    db: Queryable,
    tenantId: string,
    projectIds: Iterable<string>,
  ): Promise<(projectId: string) => TraceTier> {
    const nowMs = this.#clock.monotonicMs();
    const found = new Map<string, TraceTier>();
    const missing: string[] = [];
    for (const id of new Set(projectIds)) {
      const known = this.#known.get(`${tenantId} ${id}`);
      if (known && known.untilMs > nowMs) found.set(id, known.tier);
      else missing.push(id);
    }
    if (missing.length > 0) {
      if (this.#known.size + missing.length > MAX_KNOWN) this.forget();
      for (const [id, tier] of await readTiers(db, tenantId, missing)) {
        this.#known.set(`${tenantId} ${id}`, { tier, untilMs: nowMs + KNOWN_FOR_MS });
        found.set(id, tier);
      }
    }
    return (projectId) => found.get(projectId) ?? DEFAULT_TIER;
  }

  forget(): void {
    this.#known.clear();
  }
}

async function readTiers(
  db: Queryable,
  tenantId: string,
  projectIds: readonly string[],
): Promise<readonly (readonly [string, TraceTier])[]> {
  const { rows } = await db.query<{ id: string; project_tier: string | null; default_tier: string | null }>(
    `SELECT id, trace_tier AS project_tier,
      (SELECT default_tier FROM trace_retention WHERE tenant_id = $1) AS default_tier
    FROM projects WHERE tenant_id = $1 AND id = ANY ($2::uuid[])`,
    [tenantId, projectIds],
  );
  return rows.map(({ id, project_tier: own, default_tier: general }) => [
    id,
    // any word was taken before tiers meant something
    [own, general].find(isTraceTier) ?? DEFAULT_TIER,
  ]);
}
