import { isDeepStrictEqual } from 'node:util';
import { followingRun } from '#lib/export-plan';
import type { Informer } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import { type BulkExport, type BulkExportRun, isDeleting } from '#lib/resources';
import { type Clock, parseInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { isFinished, placeAwaited } from '../bulk-export/export-phase.js';
import type { WorkerJobs } from './attempt-workers.js';

/** Runs of one worker have fewer rows together: what starting a process costs is then the larger part no more. */
const LIGHT_ROWS = 10_000;

const FORGET_AFTER_MS = 600_000;

/** A worker is told of them in one variable, of which Linux takes 128 KiB; a filter alone may have 32 KiB. */
const MAX_BYTES = 64 << 10;

/** The first runs of other exports that a variable of the worker has room for. */
function fitting(first: BulkExportRun, runs: readonly BulkExportRun[]): readonly BulkExportRun[] {
  let bytes = 0;
  const end = runs.findIndex(
    (run) => (bytes += Buffer.byteLength(JSON.stringify(followingRun(first, run)))) > MAX_BYTES,
  );
  return end < 0 ? runs : runs.slice(0, end);
}

interface LightRuns {
  readonly runs: readonly BulkExportRun[];
  /** Rows of all of them, and of the run that begins. */
  readonly rows: number;
}

export interface FollowingRunsDependencies {
  readonly runs: Pick<Informer<BulkExportRun>, 'ownedBy' | 'list'>;
  readonly exports: Pick<Informer<BulkExport>, 'find'>;
  readonly workerJobs: Pick<WorkerJobs, 'isTaken'>;
  readonly traceStore: Pick<TraceStore, 'exportCounts'>;
  /** Most runs of one worker. */
  readonly most: number;
  /** The runs of a new export are created within it; those that are not have a reason that the export reports. */
  readonly createdWithinMs: number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/**
 * Finds the light runs that a worker can take one after the other after the one that begins: those of its export, and where
 * the platform has no place for them those of other exports of the workspace with the same destination.
 */
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
    const own = made
      .filter((one) => this.#canFollow(one, run))
      .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime))
      .slice(0, most - 1);
    const others = isWhole ? fitting(run, this.#ofOthers(run)).slice(0, most - 1 - own.length) : [];
    if (isWhole && own.length + others.length === 0) return [];
    const rows = await this.#count([run]);
    if (rows >= LIGHT_ROWS) return [];
    if (!isWhole && own.length < most - 1) return 'later';
    const light = await this.#lightOnes(own, rows);
    if (light.runs.length < own.length) return light.runs;
    return [...light.runs, ...(await this.#lightOthers(others, light.rows))];
  }

  /** The next run of each other export that waits for a place, the oldest first. */
  #ofOthers(run: BulkExportRun): readonly BulkExportRun[] {
    const { namespace = '' } = run.metadata;
    const next = new Map<string, BulkExportRun>();
    for (const one of this.#deps.runs.list(namespace)) {
      const { exportName, startTime } = one.spec;
      if (exportName === run.spec.exportName || placeAwaited(one) === undefined) continue;
      if (!this.#canFollow(one, run) || !this.#mayBegin(one, namespace)) continue;
      const known = next.get(exportName);
      if (!known || startTime < known.spec.startTime) next.set(exportName, one);
    }
    const age = ({ metadata }: BulkExportRun): string => metadata.creationTimestamp ?? '';
    return [...next.values()].sort((a, b) => age(a).localeCompare(age(b)));
  }

  #mayBegin(run: BulkExportRun, namespace: string): boolean {
    const found = this.#deps.exports.find({ namespace, name: run.spec.exportName });
    if (!found || !isOwnedBy(run, found)) return false;
    return !found.spec.suspend && !found.spec.cancel && !isDeleting(found) && !isFinished(found);
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
      isDeepStrictEqual(one.spec.destination, run.spec.destination)
    );
  }

  /** The first runs of an export, as long as there are few rows. */
  async #lightOnes(waiting: readonly BulkExportRun[], begun: number): Promise<LightRuns> {
    const all = begun + (await this.#count(waiting));
    if (all < LIGHT_ROWS) return { runs: waiting, rows: all };
    return { runs: await this.#lightOthers(waiting, begun), rows: LIGHT_ROWS };
  }

  /** The first of some runs, each counted alone: of other exports those with one window have as many rows. */
  async #lightOthers(waiting: readonly BulkExportRun[], begun: number): Promise<readonly BulkExportRun[]> {
    const known = new Map<string, number>();
    let rows = begun;
    for (const [at, one] of waiting.entries()) {
      const { projectId, startTime, endTime } = one.spec;
      const window = [projectId, startTime, endTime].join(' ');
      const counted = known.get(window) ?? (await this.#count([one]));
      known.set(window, counted);
      rows += counted;
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
