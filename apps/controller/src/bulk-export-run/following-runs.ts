import { isDeepStrictEqual } from 'node:util';
import { followingRun, specOfFollowing } from '#lib/export-plan';
import type { Informer } from '#lib/kube';
import { type BulkExport, type BulkExportRun, isDeleting } from '#lib/resources';
import { type Clock, parseInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { isFinished } from '../bulk-export/export-phase.js';
import type { WorkerJobs } from './attempt-workers.js';

/** Runs of one worker have fewer rows together: what starting a process costs is then the larger part no more. */
const LIGHT_ROWS = 10_000;

const FORGET_AFTER_MS = 600_000;

export interface FollowingRunsDependencies {
  readonly runs: Pick<Informer<BulkExportRun>, 'ownedBy'>;
  readonly workerJobs: Pick<WorkerJobs, 'isTaken'>;
  readonly traceStore: Pick<TraceStore, 'exportCounts'>;
  /** Most runs of one worker. */
  readonly most: number;
  /** The runs of a new export are created within it; those that are not have a reason that the export reports. */
  readonly createdWithinMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Finds the light runs of an export that a worker can take one after the other after the one that begins. */
export class FollowingRuns {
  readonly #deps: FollowingRunsDependencies;
  /** Time at which an export was first found without all of its runs, by uid. */
  readonly #incompleteSince = new Map<string, number>();

  constructor(deps: FollowingRunsDependencies) {
    this.#deps = deps;
  }

  /** @returns `later` while the runs of a new export are still being created: another look finds more */
  async choose(run: BulkExportRun, bulkExport: BulkExport): Promise<readonly BulkExportRun[] | 'later'> {
    const { runs, most } = this.#deps;
    if (most <= 1) return [];
    const made = runs.ownedBy(bulkExport);
    const isWhole = this.#isWhole(bulkExport, made.length);
    const waiting = made
      .filter((one) => this.#canFollow(one, run))
      .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime))
      .slice(0, most - 1);
    if (isWhole && waiting.length === 0) return [];
    const rows = await this.#count([run]);
    if (rows >= LIGHT_ROWS) return [];
    if (!isWhole && waiting.length < most - 1) return 'later';
    return await this.#lightOnes(waiting, rows);
  }

  /** One whose runs cannot all be created begins with those that exist, after a few seconds. */
  #isWhole({ metadata: { uid = '' }, status }: BulkExport, made: number): boolean {
    const now = this.#deps.clock.monotonicMs();
    if (made >= (status?.runs?.total ?? 0)) {
      this.#incompleteSince.delete(uid);
      return true;
    }
    for (const [known, since] of this.#incompleteSince)
      if (now - since > FORGET_AFTER_MS) this.#incompleteSince.delete(known);
    const since = this.#incompleteSince.get(uid) ?? now;
    this.#incompleteSince.set(uid, since);
    return now - since > this.#deps.createdWithinMs;
  }

  #canFollow(one: BulkExportRun, run: BulkExportRun): boolean {
    return (
      one.metadata.uid !== run.metadata.uid &&
      (one.status?.attempt ?? 0) === 0 &&
      !isFinished(one) &&
      !isDeleting(one) &&
      !this.#deps.workerJobs.isTaken(one) &&
      isDeepStrictEqual(specOfFollowing(run.spec, followingRun(one)), one.spec)
    );
  }

  /** The first of them, as long as there are few rows. */
  async #lightOnes(waiting: readonly BulkExportRun[], begun: number): Promise<readonly BulkExportRun[]> {
    if (begun + (await this.#count(waiting)) < LIGHT_ROWS) return waiting;
    let rows = begun;
    for (const [at, one] of waiting.entries()) {
      rows += await this.#count([one]);
      if (rows >= LIGHT_ROWS) return waiting.slice(0, at);
    }
    return waiting;
  }

  /**
   * Rows between the first and the last of the windows, whatever the filter; the largest possible number when
   * unknown.
   */
  async #count(runs: readonly BulkExportRun[]): Promise<number> {
    const [first, last] = [runs[0]?.spec, runs.at(-1)?.spec];
    if (!first || !last) return 0;
    try {
      const { rows } = await this.#deps.traceStore.exportCounts.count({
        tenantId: first.tenantId,
        projectId: first.projectId,
        startTime: parseInstant(first.startTime, { zone: 'required' }) ?? 0n,
        endTime: parseInstant(last.endTime, { zone: 'required' }) ?? 0n,
      });
      return rows;
    } catch {
      // the database has no time for it: each run gets a worker of its own
      return Number.POSITIVE_INFINITY;
    }
  }
}
