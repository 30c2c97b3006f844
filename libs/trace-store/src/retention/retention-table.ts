import { inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { type Clock, formatInstant, type Instant, parseInstant } from '#lib/time';
import { findPlaces } from '../run/run-keys.js';
import { DEFAULT_TIER, isTraceTier, timeBounds, type TraceTier } from '../run/stored-run.js';

/** Retention of a tenant's runs. */
export interface RetentionSettings {
  /** Days that shortlived traces are kept; undefined: as long as the others. */
  readonly shortlivedDays?: number | undefined;
  /** Days that all traces are kept; undefined: indefinitely. */
  readonly longlivedDays?: number | undefined;
  /** Tier of runs whose sender and project name none; longlived when undefined. */
  readonly defaultTier?: TraceTier | undefined;
}

/** Settings, and what has expired by them now, by the database's clock. */
export interface RetentionBounds extends RetentionSettings {
  /** Shortlived runs that began before it are removed. */
  readonly shortlivedBound?: Instant | undefined;
  /** All runs that began before it are removed. */
  readonly longlivedBound?: Instant | undefined;
}

/** Age of runs, of one tenant at a time. */
export interface Retention {
  /**
   * Sets the retention of the tenant's runs; equal settings change nothing. The next tidyings remove the runs
   * that have expired by it.
   */
  set(tenantId: string, settings: RetentionSettings): Promise<void>;
  /** Undefined when nothing was set: everything is kept. */
  boundsOf(tenantId: string): Promise<RetentionBounds | undefined>;
  /** Makes a trace longlived, with the runs of it that are still to come. @returns false when it is not stored */
  upgrade(tenantId: string, traceId: string): Promise<boolean>;
}

/** Expired runs are looked for so often. */
const PAUSE = '1 hour';
/** A process that died keeps others from a tenant for so long. */
const CLAIM = '1 minute';
const RETRY = '5 minutes';
/** Tenants of one round. */
const TENANTS_AT_ONCE = 1_000;

export async function setRetention(
  db: Queryable,
  tenantId: string,
  { shortlivedDays, longlivedDays, defaultTier = DEFAULT_TIER }: RetentionSettings,
): Promise<void> {
  await db.query(
    `INSERT INTO trace_retention AS t (tenant_id, shortlived_days, longlived_days, default_tier) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant_id) DO UPDATE SET shortlived_days = EXCLUDED.shortlived_days,
      longlived_days = EXCLUDED.longlived_days, default_tier = EXCLUDED.default_tier, due_at = '-infinity'
    WHERE (t.shortlived_days, t.longlived_days, t.default_tier)
      IS DISTINCT FROM (EXCLUDED.shortlived_days, EXCLUDED.longlived_days, EXCLUDED.default_tier)`,
    [tenantId, shortlivedDays ?? null, longlivedDays ?? null, defaultTier],
  );
}

interface Row {
  readonly shortlived_days: number | null;
  readonly longlived_days: number | null;
  readonly default_tier: string;
  readonly shortlived_bound: string | null;
  readonly longlived_bound: string | null;
}

/** The longer of the two bounds all runs; a day is 24 hours. */
const COLUMNS = `shortlived_days, longlived_days, default_tier,
  (clock_timestamp() - least(shortlived_days, longlived_days) * interval '24 hours')::text AS shortlived_bound,
  (clock_timestamp() - longlived_days * interval '24 hours')::text AS longlived_bound`;

export async function readRetention(db: Queryable, tenantId: string): Promise<RetentionBounds | undefined> {
  const { rows } = await db.query<Row>(`SELECT ${COLUMNS} FROM trace_retention WHERE tenant_id = $1`, [
    tenantId,
  ]);
  return rows[0] && parse(rows[0]);
}

/** Tenants whose runs may have expired, and that no other process is working on. */
export async function tenantsDue(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant_id: string }>(
    `SELECT tenant_id FROM trace_retention
    WHERE due_at < clock_timestamp() AND coalesce(shortlived_days, longlived_days) IS NOT NULL
    ORDER BY due_at LIMIT ${TENANTS_AT_ONCE}`,
  );
  return rows.map((row) => row.tenant_id);
}

/** Claims the tenant. @returns undefined when another process has it */
export async function claimRetention(db: Queryable, tenantId: string): Promise<RetentionBounds | undefined> {
  const { rows } = await db.query<Row>(
    `UPDATE trace_retention SET due_at = clock_timestamp() + interval '${CLAIM}'
    WHERE tenant_id = $1 AND due_at < clock_timestamp() RETURNING ${COLUMNS}`,
    [tenantId],
  );
  return rows[0] && parse(rows[0]);
}

/** Outcome of a turn. */
export type TurnEnd = 'completed' | 'goes on' | 'failed';

export async function endRetentionTurn(db: Pool, tenantId: string, end: TurnEnd): Promise<void> {
  await db.query(
    `UPDATE trace_retention SET due_at = CASE $2 WHEN 'completed' THEN clock_timestamp() + interval '${PAUSE}'
      WHEN 'failed' THEN clock_timestamp() + interval '${RETRY}' ELSE '-infinity' END
    WHERE tenant_id = $1`,
    [tenantId, end],
  );
}

function parse(row: Row): RetentionBounds {
  const instant = (text: string | null) =>
    text === null ? undefined : parseInstant(text, { zone: 'optional' });
  return {
    shortlivedDays: row.shortlived_days ?? undefined,
    longlivedDays: row.longlived_days ?? undefined,
    defaultTier: isTraceTier(row.default_tier) ? row.default_tier : undefined,
    shortlivedBound: instant(row.shortlived_bound),
    longlivedBound: instant(row.longlived_bound),
  };
}

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
  readonly #known = new Map<string, { readonly tier: TraceTier; readonly untilMs: number }>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** @returns the tier by the id of the project */
  async read(
    db: Queryable,
    tenantId: string,
    projectIds: Iterable<string>,
  ): Promise<(projectId: string) => TraceTier> {
    const nowMs = this.clock.monotonicMs();
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
