import type { Queryable } from '#lib/postgres';
import type { Clock } from '#lib/time';
import { DEFAULT_TIER, isTraceTier, type TraceTier } from './trace-tier.js';

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
