import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { deletedProjects } from '../project/project-deletions.js';

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

/** Stored runs and the price table, of one tenant at a time. */
export interface PriceApplications {
  /** Begins to price runs again, in the background. @throws PublicError too_many */
  apply(tenantId: string, wanted: NewPriceApplication): Promise<PriceApplication>;
  find(tenantId: string, id: string): Promise<PriceApplication | undefined>;
  /** Newest first; ended ones for 30 days, a hundred at most. */
  list(tenantId: string): Promise<readonly PriceApplication[]>;
  /** The models with most runs first, a thousand at most. @throws PublicError bad_request when it takes too long */
  unmatched(tenantId: string, search: UnmatchedSearch): Promise<readonly UnmatchedModel[]>;
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

/** The table `price_applications`. */
export class PriceApplicationTable implements PriceApplications {
  /** @param added called after one was added */
  constructor(
    private readonly pool: Pool,
    private readonly added: () => void,
  ) {}

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

  list(tenantId: string): Promise<readonly PriceApplication[]> {
    return list(this.pool, tenantId);
  }

  async unmatched(tenantId: string, search: UnmatchedSearch): Promise<readonly UnmatchedModel[]> {
    return limitedRead(this.pool, (db) => unmatched(db, tenantId, search), UNMATCHED_LIMIT);
  }
}

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
export async function tenantsWithApplications(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ tenant_id: string }>(
    `SELECT DISTINCT tenant_id FROM price_applications
    WHERE completed_at IS NULL AND claimed_until < clock_timestamp() LIMIT ${TENANTS_AT_ONCE}`,
  );
  return rows.map((row) => row.tenant_id);
}

/** Takes the oldest one of the tenant that no other process has. @returns its id */
export async function claimApplication(db: Queryable, tenantId: string): Promise<string | undefined> {
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
export async function endApplicationTurn(
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
