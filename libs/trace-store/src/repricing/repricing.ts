import { randomUUID } from 'node:crypto';
import { errorText, PublicError } from '#lib/errors';
import { type Connection, inTransaction, mayPass, type Pool, type Queryable, textTypes } from '#lib/postgres';
import type { Logger } from '#lib/telemetry';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import type { TenantWork } from '../in-turns.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import type { RunPricing } from '../price/run-pricing.js';
import { deletedProjects } from '../project/project-deletions.js';
import { findPlaces, runKey } from '../run/run-keys.js';
import { selectRuns, updateRuns } from '../run/run-table.js';
import type { RunRow } from '../run/stored-run.js';
import { TotalsChange } from '../run/trace-totals.js';
import { recordChange } from '../statistics/run-statistics-table.js';

/** Conditions on runs that are to be priced by the current table. */
interface NewPriceApplication {
  readonly projectId: string;
  /** Runs that began then or later; undefined: from the first. */
  readonly from: Instant | undefined;
  /** Exclusive; undefined: up to now. */
  readonly to: Instant | undefined;
}

/** Runs that are priced again, and how far that came. */
export interface PriceApplication extends NewPriceApplication {
  readonly id: string;
  /** Start of the last run that was examined. */
  readonly reachedTime: Instant | undefined;
  /** Calls of models without costs of their senders. */
  readonly lookedAt: number;
  readonly changed: number;
  /** Number of them that match no price. */
  readonly withoutPrice: number;
  readonly requestedAt: Instant;
  readonly completedAt: Instant | undefined;
  /** Why the last attempt failed; it is repeated. */
  readonly problem: string | undefined;
}

/** A model whose runs have tokens and no cost. */
export interface UnmatchedModel {
  /** Undefined when senders named none. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly runs: number;
  readonly totalTokens: number;
  readonly firstStartTime: Instant;
  readonly lastStartTime: Instant;
}

interface UnmatchedSearch {
  readonly projectIds: readonly string[];
  readonly from: Instant;
  readonly to: Instant;
}

/** Maximum number of unfinished requests per tenant. */
const MAX_PENDING = 10;
/** Ended ones that are kept, and for how long. */
const KEPT = 100;
const KEPT_FOR = '30 days';
/** A process that died keeps others from an application for so long. */
const CLAIM = '1 minute';
const RETRY = '5 minutes';
const TENANTS_AT_ONCE = 1_000;
/** Any number that no other lock of this database begins with. */
const LOCK = 7_214_022;
const MAX_MODELS = 1_000;
const UNMATCHED_LIMIT: ReadLimit = {
  what: 'counting models without a price',
  advice: 'ask for one project, or for a shorter time',
};

type Row = Readonly<Record<string, string | null>>;

const COLUMNS = `id, project_id, from_time, to_time, reached_time, reached_id, reached_trace, looked_at, changed,
  without_price, requested_at, completed_at, problem`;

function time(text: string | null | undefined): Instant | undefined {
  return text && !text.endsWith('infinity') ? parseInstant(text, { zone: 'optional' }) : undefined;
}

function parse(row: Row): PriceApplication {
  return {
    id: row['id'] ?? '',
    projectId: row['project_id'] ?? '',
    from: time(row['from_time']),
    to: time(row['to_time']),
    reachedTime: time(row['reached_time']),
    lookedAt: Number(row['looked_at']),
    changed: Number(row['changed']),
    withoutPrice: Number(row['without_price']),
    requestedAt: time(row['requested_at']) ?? 0n,
    completedAt: time(row['completed_at']),
    problem: row['problem'] ?? undefined,
  };
}

/**
 * Stored runs and the price table, of one tenant at a time.
 * The table `price_applications`.
 */
export class PriceApplicationTable {
  /** @param added called after one was added */
  constructor(
    private readonly pool: Pool,
    private readonly added: () => void,
  ) {}

  /** Begins to price runs again, in the background. @throws PublicError too_many */
  async apply(tenantId: string, { projectId, from, to }: NewPriceApplication): Promise<PriceApplication> {
    const made = await inTransaction(this.pool, async (db) => {
      await db.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, tenantId]);
      const before = await list(db, tenantId);
      const pending = before.filter(({ completedAt }) => completedAt === undefined);
      if (pending.length >= MAX_PENDING)
        throw new PublicError(
          'too_many',
          `${pending.length} applications of prices of this workspace have not ended, the most that may be: wait for one`,
        );
      const ended = before.filter(({ completedAt }) => completedAt !== undefined).slice(KEPT - 1);
      await db.query(
        `DELETE FROM price_applications WHERE tenant_id = $1
          AND (id = ANY ($2::uuid[]) OR completed_at < clock_timestamp() - interval '${KEPT_FOR}')`,
        [tenantId, ended.map(({ id }) => id)],
      );
      const { rows } = await db.query<Row>({
        text: `INSERT INTO price_applications (tenant_id, id, project_id, from_time, to_time)
          VALUES ($1, $2, $3, $4, coalesce($5, clock_timestamp())) RETURNING ${COLUMNS}`,
        values: [
          tenantId,
          randomUUID(),
          projectId,
          from === undefined ? '-infinity' : formatInstant(from),
          to === undefined ? null : formatInstant(to),
        ],
        types: textTypes,
      });
      return rows.map(parse)[0];
    });
    if (!made) throw new Error('adding an application of prices answered no row');
    this.added();
    return made;
  }

  async find(tenantId: string, id: string): Promise<PriceApplication | undefined> {
    return (await list(this.pool, tenantId, id))[0];
  }

  /** Newest first; ended ones for 30 days, a hundred at most. */
  list(tenantId: string): Promise<readonly PriceApplication[]> {
    return list(this.pool, tenantId);
  }

  /**
   * The models with most runs first, a thousand at most. @throws PublicError bad_request when it takes too long
   */
  async unmatched(tenantId: string, search: UnmatchedSearch): Promise<readonly UnmatchedModel[]> {
    return limitedRead(this.pool, (db) => unmatched(db, tenantId, search), UNMATCHED_LIMIT);
  }
}

export type PriceApplications = Pick<PriceApplicationTable, keyof PriceApplicationTable>;

async function list(db: Queryable, tenantId: string, id?: string): Promise<readonly PriceApplication[]> {
  const { rows } = await db.query<Row>({
    text: `SELECT ${COLUMNS} FROM price_applications WHERE tenant_id = $1 ${id === undefined ? '' : 'AND id = $2'}
      ORDER BY requested_at DESC, id LIMIT ${KEPT + MAX_PENDING}`,
    values: id === undefined ? [tenantId] : [tenantId, id],
    types: textTypes,
  });
  return rows.map(parse);
}

/** Condition on a row of `runs r`: a call of a model with tokens, and without a cost. */
const WITHOUT_COST = `r.run_type = 'llm' AND r.total_tokens > 0
  AND r.total_cost IS NULL AND r.prompt_cost IS NULL AND r.completion_cost IS NULL`;

async function unmatched(
  db: Queryable,
  tenantId: string,
  { projectIds, from, to }: UnmatchedSearch,
): Promise<readonly UnmatchedModel[]> {
  const { rows } = await db.query<Row>({
    text: `SELECT r.model, r.provider, count(*) AS runs, sum(r.total_tokens) AS tokens, min(r.start_time) AS first,
        max(r.start_time) AS last
      FROM runs r WHERE r.tenant_id = $1 AND r.project_id = ANY ($2::uuid[]) AND r.start_time >= $3 AND r.start_time < $4
        AND r.project_id <> ALL (${deletedProjects('$1')}) AND ${WITHOUT_COST}
      GROUP BY r.model, r.provider ORDER BY count(*) DESC, r.model, r.provider LIMIT ${MAX_MODELS}`,
    values: [tenantId, projectIds, formatInstant(from), formatInstant(to)],
    types: textTypes,
  });
  return rows.map((row) => ({
    model: row['model'] ?? undefined,
    provider: row['provider'] ?? undefined,
    runs: Number(row['runs']),
    totalTokens: Number(row['tokens']),
    firstStartTime: time(row['first']) ?? 0n,
    lastStartTime: time(row['last']) ?? 0n,
  }));
}

/** Tenants with an application that no process is performing. */
async function tenantsWithApplications(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM price_applications
    WHERE completed_at IS NULL AND claimed_until < clock_timestamp() LIMIT ${TENANTS_AT_ONCE}`,
  );
  return rows.map((row) => row.tenant_id);
}

/** Takes the oldest one of the tenant that no other process has. @returns its id */
async function claimApplication(db: Queryable, tenantId: string): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `UPDATE price_applications SET claimed_until = clock_timestamp() + interval '${CLAIM}'
    WHERE tenant_id = $1 AND id = (
      SELECT id FROM price_applications
      WHERE tenant_id = $1 AND completed_at IS NULL AND claimed_until < clock_timestamp()
      ORDER BY requested_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING id`,
    [tenantId],
  );
  return rows[0]?.id;
}

/** @param problem reason of the failure; undefined: it continues */
async function endApplicationTurn(
  db: Queryable,
  tenantId: string,
  id: string,
  problem?: string,
): Promise<void> {
  await db.query(
    `UPDATE price_applications SET problem = $3, claimed_until =
      CASE WHEN $3::text IS NULL THEN '-infinity'::timestamptz ELSE clock_timestamp() + interval '${RETRY}' END
    WHERE tenant_id = $1 AND id = $2`,
    [tenantId, id, problem ?? null],
  );
}

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

  async turn(tenantId: string): Promise<'troubled' | undefined> {
    const id = await claimApplication(this.pool, tenantId);
    if (id === undefined) return undefined;
    let isTroubled = false;
    // another process may have changed the table
    this.pricing.forget(tenantId);
    let problem: string | undefined;
    try {
      for (let piece = 0; piece < PIECES; piece++)
        if (await inTransaction(this.pool, (db) => this.#piece(db, tenantId, id))) break;
    } catch (error) {
      isTroubled = mayPass(error);
      if (!isTroubled) problem = 'pricing failed; it is repeated after five minutes';
      this.log.error(
        { tenantId, id, problem: errorText(error) },
        'pricing stored runs again failed; retrying later',
      );
    }
    await endApplicationTurn(this.pool, tenantId, id, problem);
    return isTroubled ? 'troubled' : undefined;
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
    const former = changed.flatMap((row) => byKey.get(runKey(row)) ?? []);
    await updateRuns(db, tenantId, former, changed, () => false);
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
