import { inTransaction, type Connection, type Pool } from '#lib/postgres';
import { eachStep } from '../limited-read.js';
import { joinFeedback } from '../feedback/join-feedback.js';
import type { PayloadStore } from '../run/payload-store.js';
import { findPlaces, runKey, type WantedRun } from '../run/run-keys.js';
import { replacePairs } from '../run/run-pairs.js';
import type { RunPlace, RunRow } from '../run/stored-run.js';
import { selectRuns, updateRuns } from '../run/run-table.js';
import type { RunPricing } from '../price/run-pricing.js';
import { recordChange } from '../statistics/run-statistics-table.js';
import { TotalsChange } from '../run/trace-totals.js';
import type { OwnProject } from './own-project.js';
import { metadataPairs } from './scalar-pairs.js';
import { parseWaiting } from './ingest-request.js';
import { lookUpMet, type MetRuns, refuseLeftRuns } from './met-runs.js';
import { changeRun, groupByRun, type RunGroup } from './run-group.js';
import { findMissed, findWaitingAt, removeWaiting } from './waiting-patches.js';

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
    const rows = await selectRuns(
      client,
      tenantId,
      known.map(([, place]) => place),
    );
    const byKey = new Map(rows.map((row) => [runKey(row), row] as const));
    const updates = known.flatMap(([{ operations }, place]) => {
      const before: RunRow | undefined = byKey.get(runKey(place));
      const changes = operations.map(({ change }) => change);
      return before ? [{ before, changes, ...changeRun(before, changes) }] : [];
    });
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
    await updateRuns(client, tenantId, after, (row) => touched.has(runKey(row)));
    const before = updates.map((update) => update.before);
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
