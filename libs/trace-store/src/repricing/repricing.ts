import { errorText } from '#lib/errors';
import { type Connection, inTransaction, type Pool, postgresTrouble, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import type { RunPricing } from '../price/run-pricing.js';
import type { TenantWork } from '../in-turns.js';
import { findPlaces, runKey } from '../run/run-keys.js';
import { selectRuns, updateRuns } from '../run/run-table.js';
import type { RunRow } from '../run/stored-run.js';
import { recordChange } from '../statistics/run-statistics-table.js';
import { TotalsChange } from '../run/trace-totals.js';
import { claimApplication, endApplicationTurn, tenantsWithApplications } from './price-application-table.js';

/** Number of rows of `runs` that one transaction passes, of any type, and their maximum per turn. */
const ROWS_AT_ONCE = 1_000;
const PIECES = 10;

interface Pending {
  readonly project_id: string;
  readonly from_time: string;
  readonly to_time: string;
  readonly reached_time: string | null;
  readonly reached_id: string | null;
  readonly reached_trace: string | null;
}

interface Key {
  readonly start_time: string;
  readonly id: string;
  readonly trace_id: string;
}

/** A cost that its sender gave stays: it has no row of the price table. */
function isOfTable({ priceId, totalCost, promptCost, completionCost }: RunRow): boolean {
  const hasNone = totalCost === undefined && promptCost === undefined && completionCost === undefined;
  return priceId !== undefined || hasNone;
}

function isSame(one: RunRow, other: RunRow): boolean {
  return (
    one.priceId === other.priceId &&
    one.promptCost === other.promptCost &&
    one.completionCost === other.completionCost &&
    JSON.stringify(one.usageDetails) === JSON.stringify(other.usageDetails)
  );
}

/**
 * Prices stored runs by the current table. A piece is a transaction: the application's row is locked, the
 * next rows in the order of the primary key are read, those that change are written with their difference in
 * the statistics, and the position is moved. So a kill loses a piece and nothing is counted twice.
 */
export class Repricing implements TenantWork {
  readonly what = 'pricing stored runs again';

  constructor(
    private readonly pool: Pool,
    private readonly pricing: RunPricing,
    private readonly log: Logger,
  ) {}

  tenants(): Promise<readonly string[]> {
    return tenantsWithApplications(this.pool);
  }

  async turn(tenantId: string): Promise<void> {
    const id = await claimApplication(this.pool, tenantId);
    if (id === undefined) return;
    // another process may have changed the table
    this.pricing.forget(tenantId);
    let problem: string | undefined;
    try {
      for (let piece = 0; piece < PIECES; piece++)
        if (await inTransaction(this.pool, (db) => this.#piece(db, tenantId, id))) break;
    } catch (error) {
      if (postgresTrouble(error) !== 'conflict') {
        problem = 'pricing failed; it is repeated after five minutes';
        this.log.error(
          { tenantId, id, problem: errorText(error) },
          'pricing stored runs again failed; retrying later',
        );
      }
    }
    await endApplicationTurn(this.pool, tenantId, id, problem);
  }

  /** @returns whether it was the last */
  async #piece(db: Connection, tenantId: string, id: string): Promise<boolean> {
    const { rows } = await db.query<Pending>({
      text: `SELECT project_id, from_time, to_time, reached_time, reached_id, reached_trace FROM price_applications
        WHERE tenant_id = $1 AND id = $2 AND completed_at IS NULL FOR UPDATE`,
      values: [tenantId, id],
      types: textTypes,
    });
    const [pending] = rows;
    if (!pending) return true;
    const until = await lastOfPiece(db, tenantId, pending);
    const wanted = await candidates(db, tenantId, pending, until);
    const counts = await this.#price(db, tenantId, pending.project_id, wanted);
    await db.query(
      `UPDATE price_applications SET looked_at = looked_at + $3, changed = changed + $4, without_price = without_price + $5,
        reached_time = coalesce($6, reached_time), reached_id = coalesce($7, reached_id),
        reached_trace = coalesce($8, reached_trace), problem = NULL,
        completed_at = CASE WHEN $6 IS NULL THEN clock_timestamp() END
      WHERE tenant_id = $1 AND id = $2`,
      [
        tenantId,
        id,
        counts.lookedAt,
        counts.changed,
        counts.withoutPrice,
        until?.start_time ?? null,
        until?.id ?? null,
        until?.trace_id ?? null,
      ],
    );
    return until === undefined;
  }

  async #price(db: Connection, tenantId: string, projectId: string, wanted: readonly Key[]) {
    const found = await findPlaces(
      db,
      tenantId,
      wanted.map((key) => ({ id: key.id, traceId: key.trace_id })),
      { lock: true },
    );
    // under their locks: rows that were read before may have changed
    const places = found.filter(
      (place) => place !== undefined && !place.isLeft && place.projectId === projectId,
    );
    const before = (
      await selectRuns(
        db,
        tenantId,
        places.filter((place) => place !== undefined),
      )
    ).filter(isOfTable);
    const after = await this.pricing.pricedAnew(db, tenantId, before);
    const byKey = new Map(before.map((row) => [runKey(row), row]));
    const changed = after.filter((row) => {
      const old = byKey.get(runKey(row));
      return old !== undefined && !isSame(old, row);
    });
    await updateRuns(db, tenantId, changed, () => false);
    const former = changed.flatMap((row) => byKey.get(runKey(row)) ?? []);
    await recordChange(db, tenantId, former, changed);
    const totals = new TotalsChange();
    totals.add(former, changed);
    await totals.write(db, tenantId);
    const withoutPrice = after.filter(({ priceId }) => priceId === undefined).length;
    return { lookedAt: before.length, changed: changed.length, withoutPrice };
  }
}

/** Rows of the application behind those that were reached; `valuesOf` has the values. */
const BEHIND = `r.tenant_id = $1 AND r.project_id = $2 AND r.start_time >= $3 AND r.start_time < $4
  AND r.start_time >= coalesce($5, $3) AND ($5::timestamptz IS NULL OR (r.start_time, r.id, r.trace_id) > ($5, $6::uuid, $7::uuid))`;

function valuesOf(tenantId: string, pending: Pending): unknown[] {
  return [
    tenantId,
    pending.project_id,
    pending.from_time,
    pending.to_time,
    pending.reached_time,
    pending.reached_id,
    pending.reached_trace,
  ];
}

/** The last row of the next piece; undefined for the last piece. */
async function lastOfPiece(db: Connection, tenantId: string, pending: Pending): Promise<Key | undefined> {
  const { rows } = await db.query<Key>({
    text: `SELECT r.start_time, r.id, r.trace_id FROM runs r
      WHERE ${BEHIND} ORDER BY r.start_time, r.id, r.trace_id OFFSET ${ROWS_AT_ONCE - 1} LIMIT 1`,
    values: valuesOf(tenantId, pending),
    types: textTypes,
  });
  return rows[0];
}

/** Calls of models in the piece that have tokens, and no cost or one of the table. */
async function candidates(
  db: Connection,
  tenantId: string,
  pending: Pending,
  until: Key | undefined,
): Promise<readonly Key[]> {
  const end = until ? 'AND (r.start_time, r.id, r.trace_id) <= ($8, $9::uuid, $10::uuid)' : '';
  const { rows } = await db.query<Key>({
    text: `SELECT r.start_time, r.id, r.trace_id FROM runs r
      WHERE ${BEHIND} ${end} AND r.run_type = 'llm' AND (r.price_id IS NOT NULL OR (
        (r.prompt_tokens IS NOT NULL OR r.completion_tokens IS NOT NULL)
        AND r.total_cost IS NULL AND r.prompt_cost IS NULL AND r.completion_cost IS NULL))`,
    values: [...valuesOf(tenantId, pending), ...(until ? [until.start_time, until.id, until.trace_id] : [])],
    types: textTypes,
  });
  return rows;
}
