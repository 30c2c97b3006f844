import type { Pool, Queryable } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { DEFAULT_TIER, isTraceTier, type TraceTier } from './trace-tier.js';

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
