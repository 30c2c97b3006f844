import { type Connection, inTransaction, type Pool, type Queryable, textTypes } from '#lib/postgres';
import { formatInstant, parseInstant } from '#lib/time';
import { findPlaces, runKey } from '../run/run-keys.js';
import { type ParentRow, placeRuns, selectParents } from '../run/run-table.js';
import type { RunPlace } from '../run/stored-run.js';
import { TotalsChange } from '../run/trace-totals.js';
import { ancestorsIn, buildDottedOrder, MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';

/** A run of one tenant: within a trace its id is unique. */
export interface RunOfTrace {
  readonly id: string;
  readonly traceId: string;
}

/** A run that is stored above its place in the tree: the way from it to its root is not known. */
interface UnplacedRun {
  readonly place: RunPlace;
  readonly parentRunId: string;
}

/** An unplaced run with the parent that it can be put below now. */
interface PlaceableRun extends UnplacedRun {
  readonly parent: RunPlace;
}

interface PlaceableRow {
  readonly project_id: string;
  readonly trace_id: string;
  readonly run_id: string;
  readonly start_time: string;
  readonly parent_run_id: string;
  readonly parent_start_time: string;
}

/** SQL that is true when a stored run is in its place. */
const isPlaced = (id: string, trace: string, tenant = '$1'): string =>
  `NOT EXISTS (SELECT FROM unplaced_runs p
    WHERE p.tenant_id = ${tenant} AND p.trace_id = ${trace} AND p.run_id = ${id})`;

/**
 * A parent places its children in its own project only: a sender that may write one project changes no other.
 */
const IS_PARENT = `k.tenant_id = u.tenant_id AND k.id = u.parent_run_id AND k.trace_id = u.trace_id
  AND k.project_id = u.project_id`;

function idsAndTraces(runs: readonly RunOfTrace[]): readonly [string[], string[]] {
  return [runs.map(({ id }) => id), runs.map(({ traceId }) => traceId)];
}

function instant(text: string): bigint {
  return parseInstant(text, { zone: 'optional' }) ?? 0n;
}

/** Notes runs that were stored in the same transaction. */
export async function addUnplaced(
  client: Connection,
  tenantId: string,
  runs: readonly UnplacedRun[],
): Promise<void> {
  if (runs.length === 0) return;
  await client.query(
    `INSERT INTO unplaced_runs (tenant_id, project_id, start_time, trace_id, run_id, parent_run_id)
    SELECT $1, * FROM unnest($2::uuid[], $3::timestamptz[], $4::uuid[], $5::uuid[], $6::uuid[]) ON CONFLICT DO NOTHING`,
    [
      tenantId,
      runs.map(({ place }) => place.projectId),
      runs.map(({ place }) => formatInstant(place.startTime)),
      runs.map(({ place }) => place.traceId),
      runs.map(({ place }) => place.id),
      runs.map(({ parentRunId }) => parentRunId),
    ],
  );
}

/**
 * `id`, `trace_id` of parents that are in their place while children of theirs are not: among runs of the tenant `$1`, and
 * the parents of these. For parameters that are lists of their ids and traces.
 */
export function parentsOfSql(ids: string, traceIds: string): string {
  return `WITH came AS MATERIALIZED (SELECT * FROM unnest(${ids}::uuid[], ${traceIds}::uuid[]) AS c(id, trace_id))
    SELECT u.parent_run_id AS id, u.trace_id FROM came c
      JOIN unplaced_runs u ON u.tenant_id = $1 AND u.trace_id = c.trace_id AND u.parent_run_id = c.id
      WHERE ${isPlaced('c.id', 'c.trace_id')}
    UNION
    SELECT u.parent_run_id, u.trace_id FROM came c
      JOIN unplaced_runs u ON u.tenant_id = $1 AND u.trace_id = c.trace_id AND u.run_id = c.id
      JOIN run_keys k ON ${IS_PARENT}
      WHERE ${isPlaced('u.parent_run_id', 'u.trace_id')}`;
}

/** Unplaced children of these runs, some at a time. */
async function findChildren(
  db: Queryable,
  tenantId: string,
  parents: readonly RunOfTrace[],
  limit: number,
): Promise<readonly PlaceableRun[]> {
  const { rows } = await db.query<PlaceableRow>({
    text: `SELECT u.project_id, u.trace_id, u.run_id, u.start_time, u.parent_run_id, k.start_time AS parent_start_time
      FROM unnest($2::uuid[], $3::uuid[]) AS c(id, trace_id)
      JOIN unplaced_runs u ON u.tenant_id = $1 AND u.trace_id = c.trace_id AND u.parent_run_id = c.id
      JOIN run_keys k ON ${IS_PARENT}
      LIMIT $4`,
    values: [tenantId, ...idsAndTraces(parents), limit],
    types: textTypes,
  });
  return rows.map((row) => {
    const shared = { tenantId, projectId: row.project_id, traceId: row.trace_id };
    return {
      place: { ...shared, id: row.run_id, startTime: instant(row.start_time) },
      parentRunId: row.parent_run_id,
      parent: { ...shared, id: row.parent_run_id, startTime: instant(row.parent_start_time) },
    };
  });
}

/** The runs among these that are still unplaced. The keys of all of them are locked by the caller. */
async function stillUnplaced<R extends UnplacedRun>(
  client: Connection,
  tenantId: string,
  runs: readonly R[],
): Promise<readonly R[]> {
  const { rows } = await client.query<{ run_id: string; trace_id: string }>(
    `SELECT u.run_id, u.trace_id FROM unnest($2::uuid[], $3::uuid[]) AS c(id, trace_id)
    JOIN unplaced_runs u ON u.tenant_id = $1 AND u.trace_id = c.trace_id AND u.run_id = c.id`,
    [tenantId, ...idsAndTraces(runs.map(({ place }) => place))],
  );
  const left = new Set(rows.map((row) => `${row.run_id} ${row.trace_id}`));
  return runs.filter(({ place }) => left.has(`${place.id} ${place.traceId}`));
}

/** They are in their places, or stay where they are. */
async function removeUnplaced(
  client: Connection,
  tenantId: string,
  runs: readonly RunOfTrace[],
): Promise<void> {
  if (runs.length === 0) return;
  await client.query(
    `DELETE FROM unplaced_runs u USING unnest($2::uuid[], $3::uuid[]) AS c(id, trace_id)
    WHERE u.tenant_id = $1 AND u.trace_id = c.trace_id AND u.run_id = c.id`,
    [tenantId, ...idsAndTraces(runs)],
  );
}

/** Position of a walk over all unplaced runs. */
interface WalkPosition {
  readonly tenantId: string;
  readonly traceId: string;
  readonly runId: string;
}

/** Parents to be found by tenant. */
type ParentsByTenant = ReadonlyMap<string, readonly RunOfTrace[]>;

interface WalkedRow {
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly run_id: string;
  readonly parent_run_id: string;
  readonly can_be_placed: boolean;
}

/**
 * Looks at some unplaced runs of all tenants.
 * @returns parents of those that can be placed, and the next position; no position at the end
 */
async function walkUnplaced(
  db: Queryable,
  after: WalkPosition | undefined,
  limit: number,
): Promise<{ readonly parents: ParentsByTenant; readonly position: WalkPosition | undefined }> {
  const from = after ?? { tenantId: NIL, traceId: NIL, runId: NIL };
  const { rows } = await db.query<WalkedRow>(
    `SELECT u.tenant_id, u.trace_id, u.run_id, u.parent_run_id, k.id IS NOT NULL
      AND ${isPlaced('u.parent_run_id', 'u.trace_id', 'u.tenant_id')} AS can_be_placed
    FROM (SELECT * FROM unplaced_runs WHERE (tenant_id, trace_id, run_id) > ($1, $2, $3)
      ORDER BY tenant_id, trace_id, run_id LIMIT $4) u LEFT JOIN run_keys k ON ${IS_PARENT}
    ORDER BY u.tenant_id, u.trace_id, u.run_id`,
    [from.tenantId, from.traceId, from.runId, limit],
  );
  const last = rows.length < limit ? undefined : rows.at(-1);
  return {
    parents: byTenant(
      rows.filter((row) => row.can_be_placed).map((row) => ({ ...row, id: row.parent_run_id })),
    ),
    position: last && { tenantId: last.tenant_id, traceId: last.trace_id, runId: last.run_id },
  };
}

/** Type of the problem of a run whose trace was guessed wrong. */
const STRAYED = 'parent_in_another_trace';

const NIL = '00000000-0000-0000-0000-000000000000';
/** Time for late parents: clients send the runs of one trace within hours. */
const LONGEST_WAIT = '1 day';
/** Runs that are each other's ancestors wait for themselves. */
const LONGEST_WAIT_OF_RINGS = '2 days';

/** Position of a walk over overdue runs. */
interface OverduePosition extends WalkPosition {
  /** Time as the database writes it. */
  readonly receivedAt: string;
}

interface OverdueRow {
  readonly received_at: string;
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly run_id: string;
  /** `t` or `f`, like the other. */
  readonly is_given_up: string;
  readonly is_last: string;
}

/**
 * Gives up placing runs whose parents did not come within a day; they stay in their places. The runs below
 * them are still placed, below these. Giving up one run does not depend on giving up others, so one walk
 * finds them all.
 * @returns those among the next overdue runs, and the next position; no position at the end
 */
async function giveUpOverdue(
  db: Queryable,
  after: OverduePosition | undefined,
  limit: number,
): Promise<{ readonly parents: ParentsByTenant; readonly position: OverduePosition | undefined }> {
  const from = after ?? { receivedAt: '-infinity', tenantId: NIL, traceId: NIL, runId: NIL };
  const { rows } = await db.query<OverdueRow>({
    text: `WITH seen AS MATERIALIZED (
        SELECT * FROM unplaced_runs WHERE received_at < now() - $1::interval
          AND (received_at, tenant_id, trace_id, run_id) > ($4, $5, $6, $7)
        ORDER BY received_at, tenant_id, trace_id, run_id LIMIT $3
      ), due AS (
        SELECT d.tenant_id, d.trace_id, d.run_id FROM seen u
          JOIN unplaced_runs d ON d.tenant_id = u.tenant_id AND d.trace_id = u.trace_id AND d.run_id = u.run_id
        WHERE u.received_at < now() - $2::interval OR NOT EXISTS (SELECT FROM run_keys k WHERE ${IS_PARENT})
        FOR UPDATE OF d SKIP LOCKED
      ), gone AS (
        DELETE FROM unplaced_runs d USING due o
        WHERE d.tenant_id = o.tenant_id AND d.trace_id = o.trace_id AND d.run_id = o.run_id
        RETURNING d.received_at, d.tenant_id, d.trace_id, d.run_id
      )
      SELECT *, true AS is_given_up, false AS is_last FROM gone
      UNION ALL
      (SELECT received_at, tenant_id, trace_id, run_id, false, (SELECT count(*) FROM seen) < $3 FROM seen
        ORDER BY received_at DESC, tenant_id DESC, trace_id DESC, run_id DESC LIMIT 1)`,
    values: [
      LONGEST_WAIT,
      LONGEST_WAIT_OF_RINGS,
      limit,
      from.receivedAt,
      from.tenantId,
      from.traceId,
      from.runId,
    ],
    types: textTypes,
  });
  const last = rows.find((row) => row.is_given_up === 'f');
  return {
    parents: byTenant(
      rows.filter((row) => row.is_given_up === 't').map((row) => ({ ...row, id: row.run_id })),
    ),
    position:
      last?.is_last === 't'
        ? undefined
        : last && {
            receivedAt: last.received_at,
            tenantId: last.tenant_id,
            traceId: last.trace_id,
            runId: last.run_id,
          },
  };
}

/**
 * Gives up runs that named no trace and came before their parent, so that their parent's id was taken for the trace: the
 * parent has come in another one. The trace is a part of a run's key, so they stay; each is named as a problem.
 * @returns those among the oldest of all tenants
 */
async function giveUpStrayed(db: Queryable, limit: number): Promise<ParentsByTenant> {
  const { rows } = await db.query<WalkedRow>(
    `WITH strayed AS (
      SELECT u.tenant_id, u.project_id, u.trace_id, u.run_id, k.trace_id AS parent_trace_id
      FROM unplaced_runs u JOIN run_keys k
        ON k.tenant_id = u.tenant_id AND k.id = u.parent_run_id AND k.project_id = u.project_id
      WHERE u.trace_id = u.parent_run_id AND k.trace_id <> u.trace_id AND NOT EXISTS (SELECT FROM run_keys p
        WHERE p.tenant_id = u.tenant_id AND p.id = u.parent_run_id AND p.trace_id = u.trace_id)
      LIMIT $1 FOR UPDATE OF u SKIP LOCKED
    ), gone AS (
      DELETE FROM unplaced_runs d USING strayed s
      WHERE d.tenant_id = s.tenant_id AND d.trace_id = s.trace_id AND d.run_id = s.run_id
      RETURNING d.tenant_id, d.project_id, d.trace_id, d.run_id, s.parent_trace_id
    ), named AS (
      INSERT INTO ingest_problems (tenant_id, project_id, kind, type, run_id, member, message)
      SELECT tenant_id, project_id, 'mended', '${STRAYED}', run_id, 'trace_id', 'the run named no trace and came before its parent '
        || trace_id || ', whose id was taken for that of the trace; the parent is in the trace ' || parent_trace_id
        || ': name trace_id, or send parents first'
      FROM gone LIMIT 100
    ), counted AS (
      INSERT INTO ingest_problem_counts AS c (tenant_id, project_id, kind, type, count)
      SELECT tenant_id, project_id, 'mended', '${STRAYED}', count(*) FROM gone GROUP BY 1, 2
      ON CONFLICT (tenant_id, project_id, kind, type)
        DO UPDATE SET count = c.count + EXCLUDED.count, last_seen_at = clock_timestamp()
    )
    SELECT tenant_id, trace_id, run_id FROM gone`,
    [limit],
  );
  return byTenant(rows.map((row) => ({ ...row, id: row.run_id })));
}

function byTenant(
  rows: readonly { readonly tenant_id: string; readonly trace_id: string; readonly id: string }[],
): ParentsByTenant {
  const runs = new Map<string, Map<string, RunOfTrace>>();
  for (const { tenant_id: tenantId, trace_id: traceId, id } of rows) {
    const ofTenant = runs.get(tenantId) ?? new Map<string, RunOfTrace>();
    ofTenant.set(`${id} ${traceId}`, { id, traceId });
    runs.set(tenantId, ofTenant);
  }
  return new Map([...runs].map(([tenantId, ofTenant]) => [tenantId, [...ofTenant.values()]]));
}

/** Number of parents in one transaction. */
const PARENTS_AT_ONCE = 100;
const CHILDREN_AT_ONCE = 1_000;
/** Number of runs placed in the request that brought the missing ancestor; tidying places the rest. */
const PLACED_IN_REQUEST = 20_000;
/** Number of runs placed below some parents, in one tidying. */
const PLACED_IN_TIDYING = 200_000;
const WALKED_AT_ONCE = 10_000;

/**
 * Puts runs below their ancestors that come after them, as spans do: a parent ends after its children.
 *
 * A run whose parent is unknown, or is such a run itself, is stored with the dotted order that follows from
 * the known facts, and noted in `unplaced_runs` in the same transaction. The later commit of the two, the
 * run's or its parent's, finds the other: both look after their commits. A parent that is in its place moves
 * its children there, and they theirs, so each run is moved once, however many of its ancestors come one by
 * one. Tidying finds runs whose process died before its lookup, and those that were too many for one request.
 * A run whose parent does not come within a day stays in its place.
 */
export class RunPlacer {
  constructor(private readonly pool: Pool) {}

  /**
   * Places runs after a commit.
   * @param parents of runs that were stored by it, as `parentsOfSql` finds them
   */
  async settle(tenantId: string, parents: readonly RunOfTrace[]): Promise<void> {
    await this.#placeBelow(tenantId, parents, PLACED_IN_REQUEST);
  }

  /** The same for runs whose senders did not complete it. */
  async settleMissed(): Promise<void> {
    let position: WalkPosition | undefined;
    do {
      const walked = await walkUnplaced(this.pool, position, WALKED_AT_ONCE);
      for (const [tenantId, parents] of walked.parents) await this.#placeBelow(tenantId, parents);
      position = walked.position;
    } while (position);
  }

  /** Gives up waiting for parents that did not come, or came in another trace. */
  async giveUp(): Promise<void> {
    for (;;) {
      const strayed = await giveUpStrayed(this.pool, WALKED_AT_ONCE);
      if (strayed.size === 0) break;
      for (const [tenantId, parents] of strayed) await this.#placeBelow(tenantId, parents);
    }
    let position: OverduePosition | undefined;
    do {
      const given = await giveUpOverdue(this.pool, position, WALKED_AT_ONCE);
      for (const [tenantId, parents] of given.parents) await this.#placeBelow(tenantId, parents);
      position = given.position;
    } while (position);
  }

  /** @param parents all in their places */
  async #placeBelow(
    tenantId: string,
    parents: readonly RunOfTrace[],
    limit = PLACED_IN_TIDYING,
  ): Promise<void> {
    const waiting = [...parents];
    let placed = 0;
    while (waiting.length > 0 && placed < limit) {
      const some = waiting.splice(0, PARENTS_AT_ONCE);
      const children = await findChildren(this.pool, tenantId, some, CHILDREN_AT_ONCE);
      if (children.length === 0) continue;
      // others may wait behind those that were found
      if (children.length === CHILDREN_AT_ONCE) waiting.unshift(...some);
      const moved = await inTransaction(this.pool, (client) => place(client, tenantId, children));
      for (const { place: child } of moved) waiting.push(child);
      placed += moved.length;
    }
  }
}

/** @returns the runs that are in their places now; others were placed, or deleted, meanwhile */
async function place(
  client: Connection,
  tenantId: string,
  children: readonly PlaceableRun[],
): Promise<readonly PlaceableRun[]> {
  await findPlaces(
    client,
    tenantId,
    children.map(({ place: child }) => child),
    { lock: true },
  );
  const unplaced = await stillUnplaced(client, tenantId, children);
  const parents = await parentsOf(client, tenantId, unplaced);
  const moved = unplaced.flatMap(({ place: child, parent }) => {
    const above = parents.get(runKey(parent));
    // below too many ancestors it stays in its place, and the runs below it are placed there
    if (above?.dottedOrder === undefined) return [];
    const dottedOrder = buildDottedOrder(child.startTime, child.id, above.dottedOrder);
    return [{ place: child, dottedOrder, parentRunIds: ancestorsIn(dottedOrder) }];
  });
  const calls = await placeRuns(client, tenantId, moved);
  const totals = new TotalsChange();
  totals.addPlaced(calls.map(({ place: call, parentRunIds }) => ({ ...call, parentRunIds })));
  await totals.write(client, tenantId);
  await removeUnplaced(
    client,
    tenantId,
    unplaced.map(({ place: child }) => child),
  );
  return unplaced;
}

async function parentsOf(
  client: Connection,
  tenantId: string,
  children: readonly PlaceableRun[],
): Promise<ReadonlyMap<string, ParentRow>> {
  const places = new Map(children.map(({ parent }) => [runKey(parent), parent]));
  const rows = await selectParents(client, tenantId, [...places.values()], MAX_KNOWN_ANCESTORS);
  return new Map(rows.map((row) => [runKey(row), row]));
}
