import { setImmediate } from 'node:timers/promises';
import { errorText } from '#lib/errors';
import { type Connection, inTransaction, type Pool, postgresTrouble, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { dayOf, formatInstant, type Instant, MICROS_PER_DAY, parseInstant } from '#lib/time';
import {
  addSumsRow,
  insertSums,
  KeyedSums,
  SPAN,
  SUMS_COLUMNS,
  type SumsRow,
} from './run-statistics-table.js';
import { sumRuns } from './sum-runs.js';

interface Piece {
  readonly tenantId: string;
  readonly projectId: string;
  readonly from: Instant;
  readonly to: Instant;
}

/**
 * Sums the runs of a store from before there were sums, one day of a project per transaction. A killed
 * process continues with the next day. In the snapshot of a transaction the sums of that day, with those that
 * batches have added, are replaced by those of its rows: a batch is in both or in none of them, and one that
 * commits later adds its difference.
 */
export async function fillStatistics(connection: Connection): Promise<void> {
  const projects = await connection.query<{ tenant_id: string; id: string }>(
    'SELECT tenant_id, id FROM projects ORDER BY tenant_id, id',
  );
  for (const { tenant_id: tenantId, id: projectId } of projects.rows)
    for (let piece = await nextPiece(connection, tenantId, projectId); piece;) {
      await fillPatiently(connection, piece);
      piece = await nextPiece(connection, tenantId, projectId);
    }
  await connection.query('DROP TABLE run_statistics_filled');
}

/** The first day of the project that has runs and was not summed yet. */
async function nextPiece(
  connection: Connection,
  tenantId: string,
  projectId: string,
): Promise<Piece | undefined> {
  const { rows } = await connection.query<{ start_time: string }>({
    text: `SELECT start_time FROM runs WHERE tenant_id = $1 AND project_id = $2 AND start_time >= coalesce(
      (SELECT up_to FROM run_statistics_filled WHERE tenant_id = $1 AND project_id = $2), '-infinity')
    ORDER BY start_time LIMIT 1`,
    values: [tenantId, projectId],
    types: textTypes,
  });
  const first = rows[0] && parseInstant(rows[0].start_time, { zone: 'optional' });
  if (first === undefined) return undefined;
  const from = dayOf(first);
  return { tenantId, projectId, from, to: from + MICROS_PER_DAY };
}

/** A row of sums that is folded meanwhile ends the attempt. */
async function fillPatiently(connection: Connection, piece: Piece): Promise<void> {
  for (;;)
    try {
      await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await fill(connection, piece);
      await connection.query('COMMIT');
      return;
    } catch (error) {
      await connection.query('ROLLBACK');
      if (postgresTrouble(error) !== 'conflict') throw error;
    }
}

async function fill(connection: Connection, { tenantId, projectId, from, to }: Piece): Promise<void> {
  const values = [tenantId, projectId, formatInstant(from), formatInstant(to)];
  await connection.query(
    `DELETE FROM run_statistics WHERE tenant_id = $1 AND project_id = $2 AND hour >= $3 AND hour < $4`,
    values,
  );
  const hours = await sumRuns(
    connection,
    'r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time < $4',
    values,
  );
  await insertSums(connection, tenantId, hours, SPAN.hour);
  await insertSums(connection, tenantId, hours.byDay(), SPAN.day);
  await connection.query(
    `INSERT INTO run_statistics_filled VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, project_id) DO UPDATE SET up_to = excluded.up_to`,
    [tenantId, projectId, formatInstant(to)],
  );
}

/** Rows of batches that one transaction folds, of so many hours: a row may take 40 kB, and 20 ms to be added. */
const FOLDED_AT_ONCE = 200;
const HOURS_AT_ONCE = 20;

/** The next tenant behind one that has rows of batches: a step in the index for each, however many rows it has. */
const NEXT_TENANT = `
SELECT tenant_id FROM run_statistics WHERE span = ${SPAN.unfolded} AND tenant_id > $1
ORDER BY tenant_id LIMIT 1`;
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

/** Takes rows of batches of a tenant. Rows that another process folds are left to it. */
const TAKE_UNFOLDED = `
DELETE FROM run_statistics s WHERE ctid = ANY (ARRAY(
  SELECT t.ctid FROM (
    SELECT DISTINCT tenant_id, project_id, hour FROM run_statistics WHERE span = ${SPAN.unfolded} AND tenant_id = $1
    ORDER BY tenant_id, project_id, hour LIMIT ${HOURS_AT_ONCE}
  ) p JOIN run_statistics t USING (tenant_id, project_id, hour)
  WHERE t.span = ${SPAN.unfolded} LIMIT ${FOLDED_AT_ONCE} FOR UPDATE OF t SKIP LOCKED
)) RETURNING ${SUMS_COLUMNS}`;

/** Sums of the same hours or days. A row that is locked stays: a reader adds the two. */
const TAKE_FOLDED = `
DELETE FROM run_statistics s WHERE ctid = ANY (ARRAY(
  SELECT t.ctid FROM unnest($2::uuid[], $3::timestamptz[]) AS p(project_id, hour)
  JOIN run_statistics t ON t.tenant_id = $1 AND t.project_id = p.project_id AND t.span = $4 AND t.hour = p.hour
  WHERE t.span > 0 FOR UPDATE OF t SKIP LOCKED
)) RETURNING ${SUMS_COLUMNS}`;

/**
 * Folds the rows that batches have added into sums of hours and of days, some rows of each tenant in a
 * transaction, round-robin: a tenant that adds rows faster than they are folded does not hold up the others.
 */
export async function foldStatistics(pool: Pool): Promise<void> {
  for (let folded = true; folded;) {
    folded = false;
    for (let tenantId = await nextTenant(pool, BEFORE_ALL); tenantId !== undefined;) {
      const current = tenantId;
      if ((await inTransaction(pool, (client) => foldSome(client, current))) > 0) folded = true;
      tenantId = await nextTenant(pool, current);
    }
  }
}

async function nextTenant(pool: Pool, after: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ tenant_id: string }>(NEXT_TENANT, [after]);
  return rows[0]?.tenant_id;
}

/** @returns how many rows it took */
async function foldSome(client: Connection, tenantId: string): Promise<number> {
  const { rows: taken } = await client.query<SumsRow>({
    text: TAKE_UNFOLDED,
    values: [tenantId],
    types: textTypes,
  });
  if (taken.length === 0) return 0;
  const hours = new KeyedSums();
  await addRows(hours, taken);
  // before the hours have those that were folded earlier: the days have these already
  const days = hours.byDay();
  await replace(client, tenantId, hours, SPAN.hour);
  await replace(client, tenantId, days, SPAN.day);
  return taken.length;
}

/** Replaces the existing sums by those with these added. */
async function replace(
  client: Connection,
  tenantId: string,
  sums: KeyedSums,
  span: typeof SPAN.hour | typeof SPAN.day,
): Promise<void> {
  const periods = sums.periods();
  const { rows } = await client.query<SumsRow>({
    text: TAKE_FOLDED,
    values: [
      tenantId,
      periods.map(({ projectId }) => projectId),
      periods.map(({ hour }) => formatInstant(hour)),
      span,
    ],
    types: textTypes,
  });
  await addRows(sums, rows);
  await insertSums(client, tenantId, sums, span);
}

/** Lets other work in between. */
async function addRows(sums: KeyedSums, rows: readonly SumsRow[]): Promise<void> {
  for (const row of rows) {
    addSumsRow(sums, row);
    await setImmediate();
  }
}

/**
 * Number of batches of this process after which it folds their sums: a reader adds up the rows that are not
 * folded.
 */
const BATCHES = 200;

/** Folds beside ingestion, one pass after the other. Tidying folds the rows that a process leaves behind. */
export class Folding {
  #batches = 0;
  #folding: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly log: Logger,
  ) {}

  /** Counts a batch. */
  noteBatch(): void {
    if (++this.#batches < BATCHES || this.#folding) return;
    this.#batches = 0;
    this.#folding = this.#fold();
  }

  /** Waits for the pass in progress. */
  async end(): Promise<void> {
    await this.#folding;
  }

  async #fold(): Promise<void> {
    try {
      await foldStatistics(this.pool);
    } catch (error) {
      this.log.warn({ problem: errorText(error) }, 'folding statistics failed; tidying will repeat it');
    } finally {
      this.#folding = undefined;
    }
  }
}
