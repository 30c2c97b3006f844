import { errorText } from '#lib/errors';
import {
  type Connection,
  inTransaction,
  mayPass,
  type Pool,
  type Queryable,
  sqlState,
  textTypes,
} from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { dayOf, formatInstant, type Instant, parseInstant } from '#lib/time';
import type { TenantWork } from '../in-turns.js';
import {
  DAY_TABLES,
  type DayRange,
  PARTITIONS_LOCK,
  rangeOfName,
  rangeSuffix,
  RECENT,
} from '../ingestion/day-partitions.js';
import { databaseNow } from '../limited-read.js';
import {
  claimRetention,
  endRetentionTurn,
  type RetentionBounds,
  tenantsDue,
  type TurnEnd,
} from '../retention/retention-table.js';
import { type RunPlace, timeBounds, type TraceTier } from '../run/stored-run.js';
import { REMOVED_AT_ONCE, type RunRemover } from '../run/remove-runs.js';
import { findPlaces } from '../run/run-keys.js';

/** Days that share a partition of runs; open at an end that is undefined. */
export interface PartitionDays {
  readonly from: Instant | undefined;
  /** Exclusive. */
  readonly to: Instant | undefined;
}

const BEFORE_1970 = 'runs_before_1970';
const YEAR_1970: Instant = 0n;
const YEAR_2100: Instant = 4_102_444_800_000_000n;

/** The days of all partitions, the oldest first. */
async function listDays(db: Queryable): Promise<readonly PartitionDays[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'runs'::regclass`,
  );
  const days = rows.map(
    ({ name }): PartitionDays =>
      rangeOfName(name) ??
      (name === BEFORE_1970 ? { from: undefined, to: YEAR_1970 } : { from: YEAR_2100, to: undefined }),
  );
  return days.sort((one, other) => ((one.from ?? -1n) < (other.from ?? -1n) ? -1 : 1));
}

/** SQLSTATE of a lock that was waited for too long, and of two that wait for one another. */
const IN_USE = new Set(['55P03', '40P01']);

/**
 * Drops the partitions of past days whose runs were all removed: their files and indexes are removed, and
 * statements no longer look into them. The lock blocks all others, so the wait for it is limited to half a
 * second, less than Postgres takes to break a deadlock: other parties of one continue. A table in use is left
 * for later.
 */
export async function dropEmptyDays(pool: Pool, log: Logger): Promise<void> {
  const past = dayOf(await databaseNow(pool)) - RECENT;
  for (const { from, to } of await listDays(pool)) {
    if (from === undefined || to === undefined || to > past || !(await isEmpty(pool, { from, to }))) continue;
    try {
      const isDropped = await inTransaction(pool, (client) => dropIfEmpty(client, { from, to }));
      if (isDropped)
        log.info({ days: rangeSuffix({ from, to }) }, 'dropped the partitions of days without runs');
    } catch (error) {
      if (!IN_USE.has(sqlState(error) ?? '')) throw error;
      log.info(
        { days: rangeSuffix({ from, to }) },
        'partitions of days without runs are in use; dropping them later',
      );
      return;
    }
  }
}

async function isEmpty(pool: Pool, { from, to }: DayRange): Promise<boolean> {
  const { rows } = await pool.query<{ is_empty: boolean }>(
    'SELECT NOT EXISTS (SELECT FROM runs WHERE start_time >= $1 AND start_time < $2) AS is_empty',
    [formatInstant(from), formatInstant(to)],
  );
  return rows[0]?.is_empty ?? false;
}

/** @returns false when a run arrived meanwhile */
async function dropIfEmpty(client: Connection, days: DayRange): Promise<boolean> {
  await client.query(`SET LOCAL lock_timeout = '500ms'; SELECT pg_advisory_xact_lock(${PARTITIONS_LOCK})`);
  await client.query(
    `LOCK TABLE ${DAY_TABLES.map((name) => `ONLY ${name}`).join()} IN ACCESS EXCLUSIVE MODE`,
  );
  const partitions = DAY_TABLES.map((name) => `${name}_${rangeSuffix(days)}`);
  const found = await client.query<{ is_empty: boolean }>(
    `SELECT ${partitions.map((name) => `NOT EXISTS (SELECT FROM ${name})`).join(' AND ')} AS is_empty`,
  );
  if (!found.rows[0]?.is_empty) return false;
  await client.query(`DROP TABLE ${partitions.join()}`);
  return true;
}

/** Pieces per turn. */
const PIECES = 5;

/** Runs of a tenant that have expired: those of a tier, or all of them, in some days. */
interface Expired {
  readonly tenantId: string;
  /** Shortlived runs alone; longlived: all, since none is kept longer. */
  readonly tier: TraceTier;
  readonly from: Instant | undefined;
  readonly to: Instant;
}

/** Removes runs that are older than their tenant keeps them. */
export class ExpiredRemoval implements TenantWork {
  readonly what = 'removing expired runs';
  /** Work that a turn continues, by tenant. */
  readonly #begun = new Map<string, AsyncGenerator<void, void, void>>();

  constructor(
    private readonly pool: Pool,
    private readonly remover: RunRemover,
    private readonly log: Logger,
  ) {}

  tenants(): Promise<readonly string[]> {
    return tenantsDue(this.pool);
  }

  async turn(tenantId: string): Promise<'troubled' | undefined> {
    const bounds = await claimRetention(this.pool, tenantId);
    if (!bounds) return undefined;
    let isTroubled = false;
    let end: TurnEnd = 'failed';
    try {
      end = await this.#removeSome(tenantId, bounds);
      if (end === 'completed') this.#begun.delete(tenantId);
    } catch (error) {
      // from the oldest day again
      this.#begun.delete(tenantId);
      isTroubled = mayPass(error);
      if (isTroubled) end = 'goes on';
      const problem = errorText(error);
      this.log.error({ tenantId, problem }, 'removing expired runs failed; retrying later');
    }
    await endRetentionTurn(this.pool, tenantId, end);
    return isTroubled ? 'troubled' : undefined;
  }

  async #removeSome(tenantId: string, bounds: RetentionBounds): Promise<TurnEnd> {
    const pieces = this.#begun.get(tenantId) ?? this.#pieces(tenantId, bounds);
    this.#begun.set(tenantId, pieces);
    for (let piece = 0; piece < PIECES; piece++) if ((await pieces.next()).done) return 'completed';
    return 'goes on';
  }

  /** Removes piece by piece, the oldest days first. */
  async *#pieces(
    tenantId: string,
    { shortlivedBound, longlivedBound }: RetentionBounds,
  ): AsyncGenerator<void, void, void> {
    const last = shortlivedBound ?? longlivedBound;
    if (last === undefined) return;
    for (const { from, to } of await listDays(this.pool))
      for (const [tier, bound] of [
        ['longlived', longlivedBound],
        ['shortlived', shortlivedBound],
      ] as const) {
        if (bound === undefined || (from !== undefined && from >= bound)) continue;
        const end = to !== undefined && to < bound ? to : bound;
        yield* this.#piecesOf({ tenantId, tier, from, to: end });
      }
  }

  async *#piecesOf(expired: Expired): AsyncGenerator<void, void, void> {
    let after: RunPlace | undefined;
    for (;;) {
      const found = await findExpired(this.pool, expired, after);
      if (found.length === 0) return;
      await this.remover.removePiece((client) => lockExpired(client, expired, found));
      after = found.at(-1);
      yield;
    }
  }
}

/** Some of them behind a run, in the order of the primary key within a partition. */
async function findExpired(
  db: Queryable,
  { tenantId, tier, from, to }: Expired,
  after: RunPlace | undefined,
): Promise<readonly RunPlace[]> {
  const behind = after
    ? 'AND (project_id, start_time, id, trace_id) > ($4::uuid, $5, $6::uuid, $7::uuid)'
    : '';
  const { rows } = await db.query<{ project_id: string; id: string; trace_id: string; start_time: string }>({
    text: `SELECT project_id, id, trace_id, start_time FROM runs
      WHERE tenant_id = $1 AND start_time >= $2 AND start_time < $3
        ${tier === 'shortlived' ? `AND trace_tier = 'shortlived'` : ''} ${behind}
      ORDER BY project_id, start_time, id, trace_id LIMIT ${REMOVED_AT_ONCE}`,
    values: [
      tenantId,
      from === undefined ? '-infinity' : formatInstant(from),
      formatInstant(to),
      ...(after ? [after.projectId, formatInstant(after.startTime), after.id, after.traceId] : []),
    ],
    types: textTypes,
  });
  return rows.map((row) => ({
    tenantId,
    projectId: row.project_id,
    id: row.id,
    traceId: row.trace_id,
    startTime: parseInstant(row.start_time, { zone: 'optional' }) ?? 0n,
  }));
}

/** Locks those that are still there and to go. */
async function lockExpired(
  client: Connection,
  { tenantId, tier }: Expired,
  runs: readonly RunPlace[],
): Promise<readonly RunPlace[]> {
  const found = await findPlaces(client, tenantId, runs, { lock: true });
  const places = found.filter((place, at) => place?.projectId === runs[at]?.projectId) as RunPlace[];
  if (tier === 'longlived' || places.length === 0) return places;
  const kept = await keepOfLongTraces(client, tenantId, places);
  return places.filter((_place, at) => !kept.has(at));
}

/**
 * Gives shortlived runs of longlived traces the tier of their trace: they arrived after it was upgraded. A trace is
 * longlived by any run of it, since what its root is called is not known from its id, and the root of a trace of
 * OpenTelemetry comes last; and by feedback whose process ended before it upgraded the trace.
 * @returns which of the runs are longlived now, by their place in the list
 */
async function keepOfLongTraces(
  client: Connection,
  tenantId: string,
  places: readonly RunPlace[],
): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ at: number; is_shortlived: boolean; is_long: boolean }>(
    `WITH given AS MATERIALIZED (
      SELECT * FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[]) WITH ORDINALITY
        AS k(project_id, start_time, id, trace_id, at)
    ), long AS MATERIALIZED (
      SELECT t.trace_id FROM (SELECT DISTINCT trace_id FROM given) t WHERE EXISTS (
        SELECT FROM run_keys k WHERE k.tenant_id = $1 AND k.trace_id = t.trace_id AND (
          EXISTS (
            SELECT FROM runs r WHERE r.tenant_id = $1 AND r.project_id = k.project_id AND r.start_time = k.start_time
              AND r.id = k.id AND r.trace_id = k.trace_id AND r.trace_tier <> 'shortlived'
          ) OR EXISTS (
            SELECT FROM feedback f WHERE f.tenant_id = $1 AND f.run_id = k.id AND f.trace_id = k.trace_id
              AND f.extends_retention IS DISTINCT FROM false
          )
        )
      )
    ), upgraded AS (
      UPDATE runs r SET trace_tier = 'longlived', changed_in = pg_current_xact_id() FROM given g
      WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3 AND r.project_id = g.project_id
        AND r.start_time = g.start_time AND r.id = g.id AND r.trace_id = g.trace_id
        AND g.trace_id IN (SELECT trace_id FROM long) AND r.trace_tier = 'shortlived'
    )
    SELECT g.at::int - 1 AS at, r.trace_tier = 'shortlived' AS is_shortlived,
      g.trace_id IN (SELECT trace_id FROM long) AS is_long
    FROM given g JOIN runs r ON r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time <= $3
      AND r.project_id = g.project_id AND r.start_time = g.start_time AND r.id = g.id AND r.trace_id = g.trace_id`,
    [
      tenantId,
      ...timeBounds(places),
      places.map(({ projectId }) => projectId),
      places.map(({ startTime }) => formatInstant(startTime)),
      places.map(({ id }) => id),
      places.map(({ traceId }) => traceId),
    ],
  );
  // one that was upgraded between being found and being locked is longlived, too
  return new Set(rows.filter((row) => row.is_long || !row.is_shortlived).map(({ at }) => at));
}
