import { isDeepStrictEqual } from 'node:util';
import { followingRun, isQueued } from '#lib/export-plan';
import type { Informer } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import { type BulkExport, type BulkExportRun, isDeleting } from '#lib/resources';
import { type Clock, parseInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { isFinished, isSchedule, placeAwaited } from '../bulk-export/export-phase.js';
import type { WorkerJobs } from './attempt-workers.js';

/** Runs of one worker have fewer rows together: what starting a process costs is then the larger part no more. */
const LIGHT_ROWS = 10_000;

const FORGET_AFTER_MS = 600_000;

/** A worker is told of them in one variable, of which Linux takes 128 KiB; a filter alone may have 32 KiB. */
const MAX_BYTES = 64 << 10;

/** True for an export that no pass has looked at. */
function isNew(bulkExport: BulkExport): boolean {
  return bulkExport.status?.conditions === undefined && !isSchedule(bulkExport);
}

/** The first runs of other exports that a variable of the worker has room for. */
function fitting(first: BulkExportRun, runs: readonly BulkExportRun[]): readonly BulkExportRun[] {
  let bytes = 0;
  const end = runs.findIndex(
    (run) => (bytes += Buffer.byteLength(JSON.stringify(followingRun(first, run)))) > MAX_BYTES,
  );
  return end < 0 ? runs : runs.slice(0, end);
}

/** A worker that begins while exports of its workspace wait is held back for so long: an export that ends admits the next one, whose run can join. */
const GATHERED_WITHIN_MS = 1_000;

interface LightRuns {
  readonly runs: readonly BulkExportRun[];
  /** Rows of all of them, and of the run that begins. */
  readonly rows: number;
}

export interface FollowingRunsDependencies {
  readonly runs: Pick<Informer<BulkExportRun>, 'ownedBy' | 'list'>;
  readonly exports: Pick<Informer<BulkExport>, 'find' | 'list'>;
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
  /** Time at which an export was first found without all of its runs, by uid, and a run first held back. */
  readonly #since = new Map<string, number>();

  constructor(deps: FollowingRunsDependencies) {
    this.#deps = deps;
  }

  /** @returns `soon` while runs of the export are being created, `later` while those of others that wait are about to be */
  async choose(
    run: BulkExportRun,
    bulkExport: BulkExport,
  ): Promise<readonly BulkExportRun[] | 'soon' | 'later'> {
    const { runs, most } = this.#deps;
    if (most <= 1) return [];
    const made = runs.ownedBy(bulkExport);
    const isWhole = this.#isWhole(bulkExport, made.length);
    const own = made
      .filter((one) => this.#canFollow(one, run))
      .sort((a, b) => a.spec.startTime.localeCompare(b.spec.startTime))
      .slice(0, most - 1);
    const others = isWhole ? fitting(run, this.#ofOthers(run)).slice(0, most - 1 - own.length) : [];
    const found = own.length + others.length;
    const isEarly = found < most - 1 && (isWhole ? this.#gathers(run) : own.length < most - 1);
    if (found === 0 && !isEarly) return [];
    const rows = await this.#count([run]);
    if (rows >= LIGHT_ROWS) return [];
    if (isEarly) return isWhole ? 'later' : 'soon';
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
      if (exportName === run.spec.exportName || !this.#canFollow(one, run)) continue;
      if (!this.#mayBegin(one, namespace)) continue;
      const known = next.get(exportName);
      if (!known || startTime < known.spec.startTime) next.set(exportName, one);
    }
    const age = ({ metadata }: BulkExportRun): string => metadata.creationTimestamp ?? '';
    return [...next.values()].sort((a, b) => age(a).localeCompare(age(b)));
  }

  /** One that waits for a place, or has not asked for one and is alone in its export. */
  #mayBegin(run: BulkExportRun, namespace: string): boolean {
    const found = this.#deps.exports.find({ namespace, name: run.spec.exportName });
    if (!found || !isOwnedBy(run, found)) return false;
    const isFirst = run.status?.conditions === undefined && found.status?.runs?.total === 1;
    if (!isFirst && placeAwaited(run) === undefined) return false;
    return !found.spec.suspend && !found.spec.cancel && !isDeleting(found) && !isFinished(found);
  }

  /** One whose runs cannot all be created begins with those that exist, after a few seconds. */
  #isWhole({ metadata: { uid = '' }, status }: BulkExport, made: number): boolean {
    if (made < (status?.runs?.total ?? 0)) return !this.#isWithin(uid, this.#deps.createdWithinMs);
    this.#since.delete(uid);
    return true;
  }

  /** True while other exports of the workspace are about to have runs that the worker can take. */
  #gathers({ metadata: { namespace = '', uid = '' }, spec }: BulkExportRun): boolean {
    const others = this.#deps.exports
      .list(namespace)
      .filter(({ metadata }) => metadata.name !== spec.exportName);
    return others.some((one) => isQueued(one) || isNew(one)) && this.#isWithin(uid, GATHERED_WITHIN_MS);
  }

  /** True for so long after the first call for the object. */
  #isWithin(uid: string, ms: number): boolean {
    const now = this.#deps.clock.monotonicMs();
    for (const [known, since] of this.#since) if (now - since > FORGET_AFTER_MS) this.#since.delete(known);
    const since = this.#since.get(uid) ?? now;
    this.#since.set(uid, since);
    return now - since <= ms;
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
