import { type Connection, inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { joinFeedback } from '../feedback/join-feedback.js';
import { eachStep } from '../limited-read.js';
import { type MadeRun, orphansSql, strangersOf } from '../placement/trace-tops.js';
import { parentsOfSql, type RunOfTrace } from '../placement/run-placer.js';
import type { RunPricing } from '../price/run-pricing.js';
import type { PayloadStore } from '../run/payload-store.js';
import { findPlaces, type FoundPlace, runKey, type WantedRun } from '../run/run-keys.js';
import { replacePairs } from '../run/run-pairs.js';
import { selectSealableRuns, updateRuns } from '../run/run-table.js';
import type { RunPlace, RunRow } from '../run/stored-run.js';
import { TotalsChange } from '../run/trace-totals.js';
import { recordChange } from '../statistics/run-statistics-table.js';
import { type ErasedRow, erasedSql, ErasedTraces } from './erased-traces.js';
import { type OwnProject, parseWaiting } from './ingest-request.js';
import { changeRun, groupByRun, type RunGroup } from './run-group.js';
import { metadataPairs } from './scalar-pairs.js';
import {
  type BytesOfRun,
  bytesOfRunsSql,
  findMissed,
  findWaitingAt,
  metByUpdatesSql,
  removeWaiting,
} from './waiting-patches.js';

interface ArrivingRun {
  readonly id: string;
  readonly traceId: string;
  readonly threadId: string | undefined;
}

/** Facts about runs that are known before they are made. */
interface Arriving {
  readonly erased: ErasedTraces;
  /**
   * Updates that wait for them. Updates that are written meanwhile are found after the commit, like all later
   * ones.
   */
  readonly waiting: readonly BytesOfRun[];
}

type ArrivingRow = ({ readonly what: 'erased' } & ErasedRow) | WaitingRow;

interface WaitingRow {
  readonly what: 'waiting';
  /** The run. */
  readonly id: string;
  /** Its trace. */
  readonly project_id: string | null;
  /** Bytes. */
  readonly began_by: string;
}

const LOOK_UP_ARRIVING = `SELECT 'erased' AS what, e.* FROM (${erasedSql('$2', '$3')}) e
UNION ALL SELECT 'waiting', '', w.run_id::text, w.trace_id::text, w.bytes::text FROM (${bytesOfRunsSql('$4')}) w`;

/** Looks up runs that are to be made, in one statement. The caller holds the tenant's lock, so that no deletion begins meanwhile. */
export async function lookUpArriving(
  db: Queryable,
  tenantId: string,
  runs: readonly ArrivingRun[],
): Promise<Arriving> {
  if (runs.length === 0) return { erased: new ErasedTraces([]), waiting: [] };
  const { rows } = await db.query<ArrivingRow>(LOOK_UP_ARRIVING, [
    tenantId,
    [...new Set(runs.map(({ traceId }) => traceId))],
    [...new Set(runs.flatMap(({ threadId }) => threadId ?? []))],
    [...new Set(runs.map(({ id }) => id))],
  ]);
  return {
    erased: new ErasedTraces(rows.filter((row) => row.what === 'erased')),
    waiting: rows.flatMap((row) =>
      row.what === 'waiting'
        ? [{ runId: row.id, traceId: row.project_id ?? undefined, bytes: Number(row.began_by) }]
        : [],
    ),
  };
}

/** A batch names runs of deleted projects whose rows are still there: they have to go first. */
export class LeftRunsError extends Error {
  constructor(readonly runs: readonly RunPlace[]) {
    super('runs of a deleted project are in the way');
    this.name = 'LeftRunsError';
  }
}

/** @throws LeftRunsError */
function refuseLeftRuns(places: readonly (FoundPlace | undefined)[]): void {
  const left = places.filter((place) => place?.isLeft) as FoundPlace[];
  if (left.length > 0) throw new LeftRunsError(left);
}

/** Data that waits for runs that are stored. */
interface MetRuns {
  readonly withUpdates: readonly RunOfTrace[];
  /** Runs that feedback waits for, whether they are stored or not. */
  readonly withFeedback: readonly string[];
  /** Parents in their place whose children are not. */
  readonly parents: readonly RunOfTrace[];
  /** Runs that were stored and whose parents are not, as `runKey` spells them. */
  readonly orphans: readonly string[];
  /** Traces of the stored runs in which a run represents the root. */
  readonly topless: readonly { readonly projectId: string; readonly traceId: string }[];
}

interface Row {
  readonly what: 'updates' | 'feedback' | 'parent' | 'orphan' | 'top';
  readonly id: string;
  readonly trace_id: string;
}

const LOOK_UP = `SELECT 'updates' AS what, u.* FROM (${metByUpdatesSql('$2')}) u
UNION ALL SELECT 'feedback', run_id, NULL FROM feedback
WHERE tenant_id = $1 AND run_id = ANY ($2::uuid[]) AND waits_since IS NOT NULL
UNION ALL SELECT 'parent', p.* FROM (${parentsOfSql('$3', '$4')}) p
UNION ALL SELECT 'orphan', o.* FROM (${orphansSql('$5::uuid[], $6::uuid[], $7::uuid[], $8::uuid[]')}) o
UNION ALL SELECT 'top', project_id, trace_id FROM trace_tops WHERE tenant_id = $1 AND trace_id = ANY ($4::uuid[])`;

/**
 * Looks in one statement, after a commit, for data that waits.
 * @param runIds of runs that were stored, or that waiting data was written for
 * @param made runs that were stored
 */
export async function lookUpMet(
  db: Queryable,
  tenantId: string,
  runIds: readonly string[],
  made: readonly MadeRun[] = [],
): Promise<MetRuns> {
  if (runIds.length === 0)
    return { withUpdates: [], withFeedback: [], parents: [], orphans: [], topless: [] };
  const { rows } = await db.query<Row>(LOOK_UP, [
    tenantId,
    runIds,
    made.map(({ id }) => id),
    made.map(({ traceId }) => traceId),
    ...strangersOf(made),
  ]);
  const of = (what: Row['what']): readonly RunOfTrace[] =>
    rows.flatMap((row) => (row.what === what ? [{ id: row.id, traceId: row.trace_id }] : []));
  return {
    withUpdates: of('updates'),
    withFeedback: of('feedback').map(({ id }) => id),
    parents: of('parent'),
    orphans: of('orphan').map(runKey),
    topless: of('top').map(({ id, traceId }) => ({ projectId: id, traceId })),
  };
}

/** Stored runs that are held in memory at once: an update of a few bytes may change a run of a hundred thousand. */
const CHANGED_AT_ONCE = 200;
/** Runs that updates were waiting for, of one transaction. */
const SETTLED_AT_ONCE = 100;

/** Sender on whose behalf runs are written. */
export interface Sender {
  readonly tenantId: string;
  /** The one project that the sender may write into; undefined when it may write into any. */
  readonly own: OwnProject | undefined;
}

/** A known run and its changes. */
type KnownRun = readonly [group: Pick<RunGroup, 'operations'>, place: RunPlace];

/**
 * Changes runs that are stored.
 *
 * Updates that came before their run wait in a table, and creates and updates are not serialised: an update
 * is written there and committed, then its sender looks whether the run has come; a create is committed, then
 * its sender looks whether updates wait. One of the two commits comes second, and the lookup after it finds
 * both. Keys are locked before waiting updates are read, so each is merged once. If a process died before its
 * lookup, `settleMissed` does it.
 */
export class RunChanger {
  constructor(
    private readonly payloads: PayloadStore,
    private readonly pricing: Pick<RunPricing, 'repriced'>,
  ) {}

  /**
   * @param totals gets the difference; the caller writes it
   * @returns groups whose run is not known
   */
  async change<G extends RunGroup>(
    client: Connection,
    { tenantId, own, totals }: Sender & { readonly totals: TotalsChange },
    groups: readonly G[],
    mayChange: (group: G, place: RunPlace) => boolean,
  ): Promise<{ readonly unknown: readonly G[] }> {
    const places = await findPlaces(client, tenantId, groups, { projectId: own?.id, lock: true });
    refuseLeftRuns(places);
    const known: KnownRun[] = [];
    const unknown: G[] = [];
    for (const [at, group] of groups.entries()) {
      const place = places[at];
      if (!place) {
        unknown.push(group);
        continue;
      }
      own?.checkPlace(place);
      // updates that were sent before this batch come first
      if (place.isAwaited) await this.#mergeWaiting(client, place, totals);
      if (mayChange(group, place)) known.push([group, place]);
    }
    for (let from = 0; from < known.length; from += CHANGED_AT_ONCE)
      await this.#changeKnown(client, tenantId, known.slice(from, from + CHANGED_AT_ONCE), totals);
    return { unknown };
  }

  /** Merges updates, and joins feedback, that wait for runs that are stored. To be called after the commit that stored either. */
  async settle(
    pool: Pool,
    tenantId: string,
    { withUpdates: met, withFeedback }: Pick<MetRuns, 'withUpdates' | 'withFeedback'>,
  ): Promise<void> {
    await joinFeedback(pool, tenantId, withFeedback);
    for (let from = 0; from < met.length; from += SETTLED_AT_ONCE)
      await inTransaction(pool, (client) =>
        this.#settleSome(client, tenantId, met.slice(from, from + SETTLED_AT_ONCE)),
      );
  }

  /** The same for some runs of all tenants whose senders did not get there. */
  async settleMissed(pool: Pool): Promise<void> {
    const missed = await findMissed(pool);
    await eachStep(
      missed.map(
        ({ tenantId, runIds }) =>
          async () =>
            this.settle(pool, tenantId, await lookUpMet(pool, tenantId, runIds)),
      ),
    );
  }

  async #settleSome(client: Connection, tenantId: string, runs: readonly WantedRun[]): Promise<void> {
    const places = await findPlaces(client, tenantId, runs, { lock: true });
    const totals = new TotalsChange();
    for (const place of places) if (place) await this.#mergeWaiting(client, place, totals);
    await totals.write(client, tenantId);
  }

  /** The run's key is locked. */
  async #mergeWaiting(client: Connection, place: RunPlace, totals: TotalsChange): Promise<void> {
    const found = await findWaitingAt(client, place);
    const mine = groupByRun(await parseWaiting(found)).find(
      ({ traceId }) => traceId === undefined || traceId === place.traceId,
    );
    if (mine) await this.#changeKnown(client, place.tenantId, [[mine, place]], totals);
    await removeWaiting(client, place.tenantId, found);
  }

  /** Changes runs whose keys are locked. */
  async #changeKnown(
    client: Connection,
    tenantId: string,
    known: readonly KnownRun[],
    totals: TotalsChange,
  ): Promise<void> {
    const rows = await selectSealableRuns(
      client,
      tenantId,
      known.map(([, place]) => place),
    );
    const byKey = new Map(rows.map((each) => [runKey(each.row), each] as const));
    const updates = known.flatMap(([{ operations }, place]) => {
      const found = byKey.get(runKey(place));
      const changes = operations.map(({ change }) => change);
      if (!found) return [];
      const before: RunRow = found.row;
      return [{ before, isSealed: found.isMarked, changes, ...changeRun(before, changes) }];
    });
    const sealed = updates.filter(({ isSealed }) => isSealed);
    if (sealed.length > 0)
      await this.payloads.bringBack(
        client,
        sealed.map(({ row, replace, fill }) => ({ place: row, replace, fill })),
      );
    const replaced = await this.payloads.replace(
      client,
      updates.map(({ row, replace }) => ({ place: row, payloads: replace })),
    );
    const filled = await this.payloads.fill(
      client,
      updates.map(({ row, fill }) => ({ place: row, payloads: fill })),
    );
    const touched = new Set([...replaced, ...filled].map(({ place }) => runKey(place)));
    const after = await this.pricing.repriced(client, tenantId, updates);
    const before = updates.map((update) => update.before);
    await updateRuns(client, tenantId, before, after, (row) => touched.has(runKey(row)));
    await recordChange(client, tenantId, before, after);
    totals.add(before, after);
    const changesOf = new Map(updates.map(({ row, changes }) => [runKey(row), changes]));
    // one list after the other: a run may be in both
    for (const changed of [replaced, filled])
      await replacePairs(
        client,
        changed.flatMap(({ place, payloads: { extra } }) =>
          extra ? [{ place, pairs: metadataPairs(changesOf.get(runKey(place)) ?? [], extra) }] : [],
        ),
      );
  }
}
