import { setImmediate } from 'node:timers/promises';
import { errorText } from '#lib/errors';
import { type Connection, inTransaction, type Pool, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { formatInstant } from '#lib/time';
import {
  addSumsRow,
  insertSums,
  KeyedSums,
  SPAN,
  SUMS_COLUMNS,
  type SumsRow,
} from './run-statistics-table.js';

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
