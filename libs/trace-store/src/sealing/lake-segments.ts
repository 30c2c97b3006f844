import { inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { findPlaces } from '../run/run-keys.js';
import { columnsOf, type RunPlace } from '../run/stored-run.js';
import { boundsOf, type ClaimedDay, LostDayError } from './lake-days.js';
import { type ProjectDay, LONGEST_READ } from './lake.js';
import type { SealedRef } from '../run/sealed-payloads.js';

/** Objects that one call deletes. */
const DELETED_AT_ONCE = 1_000;

/** A file that is written. */
export interface Intent {
  readonly id: string;
  readonly key: string;
}

/** Notes the file before any byte of it is stored. */
export async function noteIntent(db: Queryable, day: ClaimedDay, { id, key }: Intent): Promise<void> {
  await db.query(
    `INSERT INTO lake_segments (tenant_id, project_id, day, generation, id, key, state)
    VALUES ($1, $2, $3, $4, $5, $6, 'writing')`,
    [day.tenantId, day.projectId, day.day, day.generation, id, key],
  );
}

/** Forgets a file of which no byte was stored. */
export async function dropIntent(db: Queryable, { id }: Intent): Promise<void> {
  await db.query(`DELETE FROM lake_segments WHERE id = $1 AND state = 'writing'`, [id]);
}

/** Facts about a whole file. */
export interface WrittenFile {
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
  readonly firstTime: Instant;
  readonly lastTime: Instant;
}

/** Notes that the object is whole. @throws LostDayError */
export async function noteWritten(
  db: Queryable,
  day: ClaimedDay,
  { id }: Intent,
  seen: string,
  file: WrittenFile,
): Promise<void> {
  const { rowCount } = await db.query(
    `UPDATE lake_segments SET state = 'written', seen = $2::pg_snapshot, rows = $3, bytes = $4, sha256 = $5,
      first_time = $6, last_time = $7 WHERE id = $1 AND state = 'writing'`,
    [
      id,
      seen,
      file.rows,
      file.bytes,
      file.sha256,
      formatInstant(file.firstTime),
      formatInstant(file.lastTime),
    ],
  );
  if (rowCount !== 1) throw new LostDayError(day);
}

/** A row of a file with the run that it is of. */
export interface WrittenRow {
  readonly place: RunPlace;
  readonly ordinal: number;
  /** Row of a former segment that its payloads were read from; undefined: they were a row of Postgres. */
  readonly former: SealedRef | undefined;
}

/**
 * A row that has its payloads in Postgres is as the file has it unless it changed since; a sealed one is, if it is still there.
 */
const ADOPT = `WITH adopted AS (
    UPDATE runs r SET segment = $8, ordinal = k.ordinal
    FROM unnest($4::uuid[], $5::timestamptz[], $6::uuid[], $7::uuid[], $9::int[], $10::uuid[], $11::int[])
      AS k(project_id, start_time, id, trace_id, ordinal, former_segment, former_ordinal)
    WHERE r.tenant_id = $1 AND r.start_time >= $2 AND r.start_time < $3 AND r.project_id = k.project_id
      AND r.start_time = k.start_time AND r.id = k.id AND r.trace_id = k.trace_id
      AND CASE WHEN k.former_segment IS NULL THEN r.segment IS NULL AND pg_visible_in_snapshot(r.changed_in, $12::pg_snapshot)
        ELSE r.segment = k.former_segment AND r.ordinal = k.former_ordinal END
    RETURNING r.project_id, r.start_time, r.id, r.trace_id
  ), gone AS (
    DELETE FROM run_payloads p USING adopted a WHERE p.tenant_id = $1 AND p.start_time >= $2 AND p.start_time < $3
      AND p.project_id = a.project_id AND p.start_time = a.start_time AND p.id = a.id AND p.trace_id = a.trace_id
  ) SELECT count(*)::int AS adopted FROM adopted`;

/**
 * Gives runs their rows of a file in place of their payloads in Postgres, under the locks that every change of a run
 * takes, in the same order.
 * @throws LostDayError
 */
export async function adoptRows(
  pool: Pool,
  day: ClaimedDay,
  { id }: Intent,
  seen: string,
  rows: readonly WrittenRow[],
): Promise<{ readonly adopted: number; readonly removed: number }> {
  return inTransaction(pool, async (client) => {
    const places = rows.map(({ place }) => place);
    const found = await findPlaces(client, day.tenantId, places, { lock: true });
    // a worker that was thought dead must not take part once another one has the day
    const fence = await client.query(
      `SELECT FROM lake_segments WHERE id = $1 AND state = 'written' FOR SHARE`,
      [id],
    );
    if (fence.rowCount !== 1) throw new LostDayError(day);
    const left = rows.filter((row, at) => {
      const place = found[at];
      return place?.projectId === row.place.projectId && place.startTime === row.place.startTime;
    });
    const removed = rows.length - left.length;
    if (left.length === 0) return { adopted: 0, removed };
    const { rows: counted } = await client.query<{ adopted: number }>(ADOPT, [
      day.tenantId,
      ...boundsOf(day),
      ...columnsOf(left.map(({ place }) => place)),
      id,
      left.map(({ ordinal }) => ordinal),
      left.map(({ former }) => former?.segment ?? null),
      left.map(({ former }) => former?.ordinal ?? null),
      seen,
    ]);
    return { adopted: counted[0]?.adopted ?? 0, removed };
  });
}

/** True when some file is in force. */
export async function hasSealedDays(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    "SELECT EXISTS (SELECT FROM lake_segments WHERE state IN ('written', 'sealed')) AS found",
  );
  return rows[0]?.found ?? false;
}

/** True when a run names the segment. */
export async function isNamed(db: Queryable, segment: ProjectDay & Intent): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM runs WHERE tenant_id = $1 AND project_id = $2 AND start_time >= $3 AND start_time < $4
      AND segment = $5) AS found`,
    [segment.tenantId, segment.projectId, ...boundsOf(segment), segment.id],
  );
  return rows[0]?.found ?? false;
}

/** A file that is not in force any more. */
export interface FormerSegment extends ProjectDay, Intent {
  /** False when its worker died or failed before it was whole: parts of an upload may be left. */
  readonly isWhole: boolean;
}

/** True, as SQL, when so much time has passed, and the hours of `$1` by which objects stay longer than the longest read. */
function isOver(since: string, interval: string): string {
  return `${since} < clock_timestamp() - interval '${interval}' - make_interval(secs => ($1 - 1) * 3600)`;
}

/** Files whose last reads have ended, and that no backup may name any more. */
export async function listFormer(db: Queryable, keptHours: number): Promise<readonly FormerSegment[]> {
  const { rows } = await db.query<Omit<FormerSegment, 'isWhole'> & { readonly isWhole: string }>({
    text: `SELECT tenant_id AS "tenantId", project_id AS "projectId", day, id, key,
        rows IS NOT NULL AS "isWhole" FROM lake_segments
      WHERE state = 'former' AND ${isOver('former_since', LONGEST_READ)} ORDER BY former_since LIMIT ${DELETED_AT_ONCE}`,
    values: [keptHours],
    types: textTypes,
  });
  return rows.map((row) => ({ ...row, isWhole: row.isWhole === 't' }));
}

export async function deleteFormer(db: Queryable, { id }: Intent): Promise<void> {
  await db.query(`DELETE FROM lake_segments WHERE id = $1 AND state = 'former'`, [id]);
}

/** Forgets the sealed days of a project whose runs are removed; the objects go with the next tidying of a lake. */
export async function removeDaysOfProject(db: Queryable, tenantId: string, projectId: string): Promise<void> {
  // a worker that finishes a day or begins a version holds one of these rows: the next statement finds its objects
  await db.query(
    `WITH days AS (DELETE FROM lake_days WHERE tenant_id = $1 AND project_id = $2)
    DELETE FROM lake_tables WHERE tenant_id = $1 AND project_id = $2`,
    [tenantId, projectId],
  );
  await db.query(
    `WITH gone AS (DELETE FROM lake_segments WHERE tenant_id = $1 AND project_id = $2 RETURNING id, key),
      noted AS (DELETE FROM lake_gone WHERE tenant_id = $1 AND segment IN (SELECT id FROM gone)),
      files AS (DELETE FROM lake_table_files WHERE tenant_id = $1 AND project_id = $2 RETURNING key)
    INSERT INTO lake_garbage (key) SELECT key FROM gone UNION SELECT key FROM files ON CONFLICT DO NOTHING`,
    [tenantId, projectId],
  );
}

/** Object of a project that was deleted, or that no version of a table names any more. */
export interface GarbageObject {
  readonly key: string;
  /** False as long as a worker that has not noticed may still be writing it. */
  readonly isSettled: boolean;
}

export async function listGarbage(db: Queryable, keptHours: number): Promise<readonly GarbageObject[]> {
  const { rows } = await db.query<GarbageObject>(
    `SELECT key, ${isOver('since', LONGEST_READ)} AS "isSettled" FROM lake_garbage
    WHERE ${isOver('since', '0')} ORDER BY since, key LIMIT ${DELETED_AT_ONCE}`,
    [keptHours],
  );
  return rows;
}

/** True when the last reads of some file, or the time of its worker, have ended. */
export async function hasGarbage(db: Queryable, keptHours: number): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM lake_garbage WHERE ${isOver('since', LONGEST_READ)})
      OR EXISTS (SELECT FROM lake_segments WHERE state = 'former' AND ${isOver('former_since', LONGEST_READ)}) AS found`,
    [keptHours],
  );
  return rows[0]?.found ?? false;
}

/**
 * Deletes an object and, when it is settled, forgets it. A table that is about to write the object again waits meanwhile.
 * @param perform deletes it from the store
 */
export function deleteGarbage(
  pool: Pool,
  object: GarbageObject,
  perform: (object: GarbageObject) => Promise<void>,
): Promise<void> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query('SELECT FROM lake_garbage WHERE key = $1 FOR UPDATE', [
      object.key,
    ]);
    if (rowCount !== 1) return;
    await perform(object);
    if (object.isSettled) await client.query('DELETE FROM lake_garbage WHERE key = $1', [object.key]);
  });
}
