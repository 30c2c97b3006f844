import { type Connection, inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import { failureSql, noteTableChange } from './lake-table.js';
import type { ProjectDay, LakeDay, LakeDaySearch } from './lake.js';

/** A worker that gave no sign of life for so long has lost its day. */
const LEASE = '1 minute';
/** Days whose runs are looked at in one call. */
const OBSERVED_AT_ONCE = 200;
/** A day is sealed again when more than one in so many of its sealed rows are gone from its files, or came beside them. */
const CHANGED_SHARE = 100;

/** Condition on the row of a day; `keyOf` has the values. */
const DAY = 'tenant_id = $1 AND project_id = $2 AND day = $3';

function keyOf({ tenantId, projectId, day }: ProjectDay): readonly string[] {
  return [tenantId, projectId, day];
}

/** Times of the day, as `[from, to)`. */
export function timesOf({ day }: Pick<ProjectDay, 'day'>): { readonly from: Instant; readonly to: Instant } {
  const from = parseInstant(`${day}T00:00:00Z`, { zone: 'required' });
  if (from === undefined) throw new Error(`reading the day ${day} failed: it is no date`);
  return { from, to: from + MICROS_PER_DAY };
}

/** The same as parameters. */
export function boundsOf(day: Pick<ProjectDay, 'day'>): readonly [string, string] {
  const { from, to } = timesOf(day);
  return [formatInstant(from), formatInstant(to)];
}

/**
 * Adds the rows of segments that are gone since the last time. Rows of segments that are about to be in force wait;
 * those of former ones no longer count.
 */
async function foldGone(db: Queryable, eraseHours: number): Promise<void> {
  await db.query(
    `WITH gone AS (
      DELETE FROM lake_gone g USING (
        SELECT o.ctid AS place, s.* FROM lake_gone o LEFT JOIN lake_segments s ON s.id = o.segment
        WHERE s.state IS NULL OR s.state IN ('sealed', 'former') FOR UPDATE OF o SKIP LOCKED
      ) o WHERE g.ctid = o.place
      RETURNING o.tenant_id, o.project_id, o.day, o.state, g.rows, g.is_removal, g.gone_at
    )
    UPDATE lake_days d SET gone_rows = d.gone_rows + s.rows,
      erase_before = least(d.erase_before, s.removed_at + make_interval(secs => $1 * 3600))
    FROM (
      SELECT tenant_id, project_id, day, sum(rows) AS rows, min(gone_at) FILTER (WHERE is_removal) AS removed_at
      FROM gone WHERE state = 'sealed' GROUP BY 1, 2, 3
    ) s WHERE d.tenant_id = s.tenant_id AND d.project_id = s.project_id AND d.day = s.day`,
    [eraseHours],
  );
}

/** Adds days of projects that have runs by the hourly statistics, and ended long enough ago. */
async function addDays(db: Queryable, quietHours: number): Promise<void> {
  await db.query(
    `INSERT INTO lake_days (tenant_id, project_id, day)
    SELECT DISTINCT tenant_id, project_id, (hour AT TIME ZONE 'UTC')::date FROM run_statistics
    WHERE hour >= '1970-01-01' AND hour < date_trunc('day', clock_timestamp() - make_interval(secs => $1 * 3600), 'UTC')
    ON CONFLICT DO NOTHING`,
    [quietHours],
  );
  await db.query(
    'UPDATE lake_days SET seen = pg_current_snapshot(), seen_at = clock_timestamp() WHERE seen IS NULL',
  );
}

/** Days that must be written again however much they change: bytes of deleted runs have to go, or all of them did. */
async function hurryErasures(db: Queryable, eraseHours: number): Promise<void> {
  await db.query(
    `UPDATE lake_days SET next_at = clock_timestamp() WHERE next_at IS NULL AND gone_rows > 0
      AND (erase_before < clock_timestamp() + make_interval(secs => $1 * 1800)
        OR (erase_before IS NOT NULL AND gone_rows >= sealed_rows))`,
    [eraseHours],
  );
}

interface UnseenRow {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly day: string;
}

/** A day that has runs outside of its files or has lost some; others have nothing to be sealed. */
const HAS_WORK = `(d.generation = 0 OR d.gone_rows > 0 OR EXISTS (
    SELECT FROM run_payloads p WHERE p.tenant_id = $1 AND p.project_id = $2 AND p.start_time >= $4 AND p.start_time < $5))`;

/** One look at a day whose last one was long enough ago. The statement's snapshot is the one that it notes. */
async function observe(db: Queryable, row: UnseenRow): Promise<void> {
  const day = { tenantId: row.tenant_id, projectId: row.project_id, day: row.day };
  await db.query(
    `WITH d AS MATERIALIZED (SELECT d.*, ${HAS_WORK} AS has_work FROM lake_days d WHERE ${DAY}),
    r AS MATERIALIZED (
      SELECT count(*) FILTER (WHERE r.segment IS NULL) AS loose,
        coalesce(bool_and(pg_visible_in_snapshot(r.changed_in, d.seen)), true) AS is_quiet
      FROM d JOIN runs r ON d.has_work AND r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $4
        AND r.start_time < $5
    )
    UPDATE lake_days n SET seen = CASE WHEN r.is_quiet THEN n.seen ELSE pg_current_snapshot() END,
      seen_at = clock_timestamp(), loose_rows = r.loose,
      next_at = CASE WHEN r.is_quiet AND (r.loose + n.gone_rows) * ${CHANGED_SHARE} > n.sealed_rows THEN clock_timestamp() END
    FROM r WHERE n.tenant_id = $1 AND n.project_id = $2 AND n.day = $3 AND n.next_at IS NULL`,
    [...keyOf(day), ...boundsOf(day)],
  );
}

export interface LookOptions {
  readonly quietHours: number;
  readonly eraseHours: number;
  /** True when days are added that the statistics have by now, which reads all of these. */
  readonly addsDays: boolean;
}

/** Looks for days that are due, and notes them. @returns the number that wait for a worker */
export async function lookForDays(
  db: Queryable,
  { quietHours, eraseHours, addsDays }: LookOptions,
): Promise<number> {
  await foldGone(db, eraseHours);
  if (addsDays) await addDays(db, quietHours);
  await hurryErasures(db, eraseHours);
  const unseen = await db.query<UnseenRow>({
    text: `SELECT tenant_id, project_id, day FROM lake_days
      WHERE seen_at <= clock_timestamp() - make_interval(secs => $1 * 3600) AND next_at IS NULL
      ORDER BY seen_at LIMIT ${OBSERVED_AT_ONCE}`,
    values: [quietHours],
    types: textTypes,
  });
  for (const row of unseen.rows) await observe(db, row);
  const { rows } = await db.query<{ due: number }>(
    `SELECT count(*)::int AS due FROM lake_days WHERE ${IS_WAITING}`,
  );
  return rows[0]?.due ?? 0;
}

const IS_WAITING = `next_at <= clock_timestamp()
  AND (sealing_since IS NULL OR sealing_since < clock_timestamp() - interval '${LEASE}')`;

/** A day that a worker has claimed. */
export interface ClaimedDay extends ProjectDay {
  /** Generation of the segments that it is about to get. */
  readonly generation: number;
  /** Segments in force, which the new ones replace. */
  readonly former: readonly string[];
  /** Transactions that had ended when it was claimed. */
  readonly seen: string;
}

/** Another worker has the day, or its project was deleted. */
export class LostDayError extends Error {
  constructor({ day, projectId }: ProjectDay) {
    super(`sealing ${day} of project ${projectId} failed: another worker has taken it, or it was deleted`);
    this.name = 'LostDayError';
  }
}

/**
 * Claims the day that has waited longest. Files that a former worker began are given up, and those that it finished are
 * in force, with the runs that it came to: its statements find neither in the state that they need.
 */
export async function claimDay(
  pool: Pool,
): Promise<{ readonly day: ClaimedDay; readonly claim: string } | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<UnseenRow & { generation: string; claim: string; seen: string }>({
      // materialized, so that one alone is claimed
      text: `WITH next AS MATERIALIZED (
          SELECT tenant_id, project_id, day FROM lake_days WHERE ${IS_WAITING} ORDER BY next_at LIMIT 1
          FOR UPDATE SKIP LOCKED
        )
        UPDATE lake_days d SET sealing_since = clock_timestamp() FROM next n WHERE d.tenant_id = n.tenant_id AND d.project_id = n.project_id AND d.day = n.day
        RETURNING d.tenant_id, d.project_id, d.day, d.generation, d.sealing_since AS claim,
          pg_current_snapshot() AS seen`,
      types: textTypes,
    });
    const [row] = rows;
    if (!row) return undefined;
    const day = { tenantId: row.tenant_id, projectId: row.project_id, day: row.day };
    const segments = await client.query<{ id: string; generation: string; state: string }>({
      text: `UPDATE lake_segments SET former_since = CASE state WHEN 'writing' THEN clock_timestamp() END,
          state = CASE state WHEN 'writing' THEN 'former' ELSE 'sealed' END
        WHERE ${DAY} AND state <> 'former' RETURNING id, generation, state`,
      values: [...keyOf(day)],
      types: textTypes,
    });
    const generations = segments.rows.map(({ generation }) => Number(generation));
    const generation = Math.max(Number(row.generation), ...generations) + 1;
    const former = segments.rows.filter(({ state }) => state === 'sealed').map(({ id }) => id);
    return { day: { ...day, generation, former, seen: row.seen }, claim: row.claim };
  });
}

/** Gives a sign of life. @returns the claim from now on @throws LostDayError */
export async function renewClaim(db: Queryable, day: ProjectDay, claim: string): Promise<string> {
  const { rows } = await db.query<{ claim: string }>({
    text: `UPDATE lake_days SET sealing_since = clock_timestamp() WHERE ${DAY} AND sealing_since = $4
      RETURNING sealing_since AS claim`,
    values: [...keyOf(day), claim],
    types: textTypes,
  });
  if (!rows[0]) throw new LostDayError(day);
  return rows[0].claim;
}

/** Gives the day back, as it was claimed. */
export async function releaseDay(db: Queryable, day: ProjectDay, claim: string): Promise<void> {
  await db.query(`UPDATE lake_days SET sealing_since = NULL WHERE ${DAY} AND sealing_since = $4`, [
    ...keyOf(day),
    claim,
  ]);
}

/** Notes a failed attempt; the next one waits. */
export async function noteFailure(
  db: Queryable,
  day: ProjectDay,
  claim: string,
  error: string,
): Promise<void> {
  await db.query(
    `UPDATE lake_days SET sealing_since = NULL, ${failureSql('$5')} WHERE ${DAY} AND sealing_since = $4`,
    [...keyOf(day), claim, error],
  );
}

/** Result of writing and adopting a day. */
export interface DayResult {
  readonly segments: readonly string[];
  readonly rows: number;
  readonly bytes: number;
  /** Rows of the files that no run names: it was changed or removed meanwhile. */
  readonly unadopted: number;
  /** Unadopted rows whose runs were removed. */
  readonly removed: number;
}

/** Puts the new segments in force in place of the former ones, which no run names any more. @throws LostDayError */
export async function finishDay(
  pool: Pool,
  day: ClaimedDay,
  claim: string,
  result: DayResult,
  eraseHours: number,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const kept = await client.query(
      `UPDATE lake_days SET sealing_since = NULL, sealed_at = clock_timestamp(),
        generation = $5, sealed_rows = $6, sealed_bytes = $7, gone_rows = $8, loose_rows = 0,
        erase_before = CASE WHEN $9 > 0 THEN clock_timestamp() + make_interval(secs => $10 * 3600) END,
        seen = $11::pg_snapshot, seen_at = clock_timestamp(), attempts = 0, next_at = NULL, error = NULL
      WHERE ${DAY} AND sealing_since = $4`,
      [
        ...keyOf(day),
        claim,
        day.generation,
        result.rows,
        result.bytes,
        result.unadopted,
        result.removed,
        eraseHours,
        day.seen,
      ],
    );
    const sealed = await setState(client, day, result.segments, 'sealed');
    if (kept.rowCount !== 1 || sealed !== result.segments.length) throw new LostDayError(day);
    await setState(client, day, day.former, 'former');
    if (result.segments.length + day.former.length > 0) await noteTableChange(client, day);
  });
}

async function setState(
  client: Connection,
  day: ProjectDay,
  ids: readonly string[],
  state: 'sealed' | 'former',
): Promise<number> {
  const before = state === 'sealed' ? 'written' : 'sealed';
  const { rowCount } = await client.query(
    `UPDATE lake_segments SET state = $5, former_since = CASE WHEN $5 = 'former' THEN clock_timestamp() END
    WHERE ${DAY} AND id = ANY ($4::uuid[]) AND state = $6`,
    [...keyOf(day), ids, state, before],
  );
  return rowCount ?? 0;
}

/** A page of the days of a tenant that have anything to say. */
export async function listDays(
  db: Queryable,
  tenantId: string,
  { projectId, limit, after }: LakeDaySearch,
): Promise<readonly LakeDay[]> {
  const { rows } = await db.query<LakeDay>(
    `SELECT tenant_id AS "tenantId", project_id AS "projectId", day::text, generation,
      sealing_since IS NOT NULL AS "isSealing", sealed_at AS "sealedAt", loose_rows::float8 AS "looseRows",
      sealed_rows::float8 AS "sealedRows", sealed_bytes::float8 AS "sealedBytes", gone_rows::float8 AS "goneRows",
      erase_before AS "eraseBefore", attempts, next_at AS "nextAt", error
    FROM lake_days
    WHERE tenant_id = $1 AND ($2::uuid IS NULL OR project_id = $2)
      AND (sealed_rows > 0 OR loose_rows > 0 OR error IS NOT NULL OR sealing_since IS NOT NULL)
      AND ($4::date IS NULL OR day < $4 OR (day = $4 AND project_id > $5::uuid))
    ORDER BY day DESC, project_id LIMIT $3`,
    [tenantId, projectId ?? null, limit, after?.day ?? null, after?.projectId ?? null],
  );
  return rows.map((row) => ({
    ...row,
    sealedAt: row.sealedAt ?? undefined,
    eraseBefore: row.eraseBefore ?? undefined,
    nextAt: row.nextAt ?? undefined,
    error: row.error ?? undefined,
  }));
}
