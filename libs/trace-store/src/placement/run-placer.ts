import { inTransaction, type Connection, type Pool } from '#lib/postgres';
import { findPlaces, runKey } from '../run/run-keys.js';
import { TotalsChange } from '../run/trace-totals.js';
import { placeRuns, selectParents, type ParentRow } from '../run/run-table.js';
import { ancestorsIn, buildDottedOrder, MAX_KNOWN_ANCESTORS } from '../wire/dotted-order.js';
import {
  findChildren,
  giveUpOverdue,
  giveUpStrayed,
  type OverduePosition,
  type PlaceableRun,
  removeUnplaced,
  type RunOfTrace,
  stillUnplaced,
  walkUnplaced,
  type WalkPosition,
} from './unplaced-runs.js';

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
