import type { ExportLimits } from '#lib/export-plan';
import { addFinalizer, type EventRecorder, type KubeClient, removeFinalizer, StatusWriter } from '#lib/kube';
import { after, done, finalizerStep, isOwnedBy, type Result, wait } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportRun,
  FINALIZER,
  isDeleting,
  type Job,
  type ObjectKey,
  REASON,
  RESOURCES,
} from '#lib/resources';
import type { ExportProgressRecord, TraceStore } from '#lib/trace-store';
import { isFinished } from '../bulk-export/export-phase.js';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import { type Caches, workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { isJobFinished } from '../ended-jobs.js';
import type { AttemptWorkers, WorkerJobs } from './attempt-workers.js';
import {
  attemptOf,
  blockedByCredentials,
  decideRun,
  type ExportRunWorld,
  MARK_GONE,
  PREDECESSOR_GONE,
  type RunDecision,
} from './decide.js';
import type { FollowingRuns } from './following-runs.js';
import type { LeftUploads } from './left-uploads.js';
import type { RunPlaces } from './run-places.js';
import { countDecision, summarizeRun } from './run-status.js';

/** Runs what is asked for one key in the order in which it was asked, each after the end of the one before. */
export class OneAtATime {
  readonly #tails = new Map<string, Promise<void>>();

  do<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#tails.get(key) ?? Promise.resolve()).then(work);
    const tail = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return mine;
  }
}

export interface BulkExportRunDependencies extends Pick<Caches, 'workspaces' | 'exports' | 'runs'> {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly limits: ExportLimits;
  readonly traceStore: Pick<TraceStore, 'exportProgress'>;
  readonly workers: AttemptWorkers;
  readonly workerJobs: Pick<WorkerJobs, 'following'>;
  readonly following: Pick<FollowingRuns, 'choose'>;
  readonly time: DatabaseTime;
  readonly places: RunPlaces;
  readonly uploads: Pick<LeftUploads, 'begin'>;
}

const SUMMARY_EVERY_MS = 2_000;
/** A run that ends wakes the next one; this is for limits that were raised. */
const QUEUE_LOOKS_MS = { export: 60_000, platform: 3_000, worker: SUMMARY_EVERY_MS } as const;
/** While other runs that its worker can take are being created: of a new export, and of exports that wait. */
const FOLLOWING_LOOK_MS = { soon: 200, later: 500 } as const;
const UNCLEARED_LOOK_MS = 10_000;
const BLOCKED_LOOK_MS = 5_000;
/** Place of a run that is at work. */
const AT_WORK = { place: 0, atWork: { all: 0, ofWorkspace: 0, ahead: 0, exportsAhead: 0 } } as const;
const RELEASE_LOOK_MS = 1_000;
const CLEAR_LOOK_MS = 1_000;
/** A lost node never ends its pods, and a deletion must not wait for that. */
const RELEASE_WITHIN_MS = 60_000;
/** A worker that continues with other runs learns it by its heartbeat, each second. */
const LEAVES_WITHIN_MS = 5_000;
/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;
/** The caches follow the database within it. */
const COMPLETED_LOOK_MS = 200;

/**
 * Carries a BulkExportRun to its end. An attempt has a Job of its own: its number is written to the status
 * before the Job is made, and the Job's name follows from it, so a controller that dies in between makes the
 * same Job again. The first attempt of a light run may be made by the worker of another run of the export;
 * its status shows it once that worker has claimed it. The worker keeps its progress in Postgres; the status
 * gets a copy of it every few seconds.
 */
export class BulkExportRunReconciler {
  readonly #deps: BulkExportRunDependencies;
  readonly #status: StatusWriter;
  /** Locks by namespace: two runs of it that begin at one moment would take the same others along. */
  readonly #begins = new OneAtATime();

  constructor(deps: BulkExportRunDependencies) {
    this.#deps = deps;
    this.#status = new StatusWriter(deps.client, { fieldManager: 'agentplane-controller-export-run' });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#deps.runs.find(key);
    if (!found) return await this.#deps.workers.sweep(key).then(done);
    // attempts that it does not show would be begun again, or left running
    if (this.#status.isBehind(found)) return wait(REASON.pending, BEHIND_MS);
    const step = finalizerStep(found, FINALIZER.exportRun);
    if (step === 'gone') return done();
    if (step === 'finalize') return await this.#release(found);
    if (isFinished(found))
      return (await this.#deps.workers.clearShared(found)) ? done() : after(UNCLEARED_LOOK_MS);
    const run = await addFinalizer(this.#deps.client, RESOURCES.BulkExportRun, found, FINALIZER.exportRun);
    const world = await this.#observe(run);
    const decision = await this.#decide(world);
    // cleared away before the run is reported as over; what is left then, later passes clear by `clearShared`
    if (decision.kind === 'fail' && !(await this.#shutOut(run))) return after(COMPLETED_LOOK_MS);
    const isCleared = decision.kind !== 'complete' || (await this.#deps.workers.clear(run, attemptOf(world)));
    if (decision.kind === 'start' && decision.attempt === 1) return await this.#begin(world, decision);
    await this.#report(world, decision);
    const result = await this.#perform(world, decision);
    return isCleared ? result : after(UNCLEARED_LOOK_MS);
  }

  /** The first attempt, with other runs that its worker takes afterwards where they are light. */
  async #begin(world: ExportRunWorld, decision: RunDecision): Promise<Result> {
    const { following, traceStore, workerJobs } = this.#deps;
    const { run, bulkExport } = world;
    if (!bulkExport) return after(0);
    return await this.#begins.do(bulkExport.metadata.namespace ?? '', async () => {
      // others may have begun while this one waited, and have taken it along
      const progress = await traceStore.exportProgress.find(run.metadata.uid ?? '');
      const job = workerJobs.following(run);
      const now = { ...world, ...this.#placeOf(run, bulkExport), job, progress };
      const again = decideRun(now);
      if (again.kind !== 'start' || again.attempt !== 1) {
        await this.#report(now, again);
        return await this.#perform(now, again);
      }
      const chosen = await following.choose(run, bulkExport);
      if (typeof chosen === 'string') {
        this.#deps.places.leave(run);
        return after(FOLLOWING_LOOK_MS[chosen]);
      }
      this.#deps.places.begin(run);
      await this.#report(world, decision);
      await this.#deps.workers.start(run, 1, await this.#prepare(chosen));
      return after(SUMMARY_EVERY_MS);
    });
  }

  /** Writes the initial progress of runs before a worker gets them. @returns runs that can begin */
  async #prepare(runs: readonly BulkExportRun[]): Promise<readonly BulkExportRun[]> {
    const prepared: BulkExportRun[] = [];
    for (const run of runs) if ((await this.#adopt(run)) && (await this.#beginLate(run))) prepared.push(run);
    return prepared;
  }

  async #decide(world: ExportRunWorld): Promise<RunDecision> {
    const decision = decideRun(world);
    const hasBegun = attemptOf(world) > 0;
    if (!hasBegun && decision.kind !== 'fail') {
      if (!(await this.#adopt(world.run))) return PREDECESSOR_GONE;
      if (!(await this.#beginLate(world.run))) return MARK_GONE;
    }
    if (decision.kind !== 'start' && decision.kind !== 'ensureJob') return decision;
    const problem = await this.#deps.workers.problemOf(world.run);
    return problem === undefined ? decision : blockedByCredentials(problem);
  }

  /**
   * Adopts before the run begins: the export that is continued may be deleted meanwhile. @returns true when
   * adopted, or when there is nothing to adopt
   */
  async #adopt({ metadata: { uid = '' }, spec: { predecessorUid } }: BulkExportRun): Promise<boolean> {
    return (
      predecessorUid === undefined || (await this.#deps.traceStore.exportProgress.adopt(uid, predecessorUid))
    );
  }

  /**
   * Begins late rows after the adoption, which is older. @returns true when it knows which rows to leave out
   */
  async #beginLate({ metadata: { uid = '' }, spec: { lateOfUid } }: BulkExportRun): Promise<boolean> {
    return lateOfUid === undefined || (await this.#deps.traceStore.exportProgress.beginLate(uid, lateOfUid));
  }

  async #observe(run: BulkExportRun): Promise<ExportRunWorld> {
    const { exports, traceStore, time, workers, workspaces } = this.#deps;
    const { namespace = '', uid = '' } = run.metadata;
    const progress = await traceStore.exportProgress.find(uid);
    const attempt = attemptOf({ run, progress });
    const named = exports.find({ namespace, name: run.spec.exportName });
    const bulkExport = named && isOwnedBy(run, named) && !isDeleting(named) ? named : undefined;
    const job = await workers.find(run, attempt);
    return {
      run,
      bulkExport,
      ...(bulkExport && attempt === 0 ? this.#placeOf(run, bulkExport) : AT_WORK),
      job,
      pods: job && attempt > 0 && isJobFinished(job) ? await workers.podsOf(job) : [],
      progress,
      now: await time.now(),
      limits: limitsOf(this.#deps.limits, workspaceOf(workspaces, namespace)),
    };
  }

  #placeOf(run: BulkExportRun, bulkExport: BulkExport): Pick<ExportRunWorld, 'place' | 'atWork'> {
    const { places } = this.#deps;
    return { place: places.of(run, bulkExport), atWork: places.atWork(run) };
  }

  async #report(world: ExportRunWorld, decision: RunDecision): Promise<void> {
    const { run } = world;
    const status = summarizeRun(world, decision);
    const written = await this.#status.apply(RESOURCES.BulkExportRun, run, status);
    if (written === run) return;
    countDecision(decision, world);
    await this.#deps.runs.seen(written);
    if (decision.kind === 'fail' || decision.kind === 'pause')
      this.#deps.events.record(RESOURCES.BulkExportRun, run, {
        type: 'Warning',
        reason: decision.kind === 'fail' ? decision.reason : REASON.attemptFailed,
        message: decision.message,
      });
  }

  async #perform(world: ExportRunWorld, decision: RunDecision): Promise<Result> {
    const { run } = world;
    const { places, traceStore, workers } = this.#deps;
    const isInLine = decision.kind === 'queue' && decision.behind === 'platform';
    // a run that waits for something else, or for nothing more, holds up no other workspace
    if (isInLine) places.wait(run);
    else places.leave(run);
    switch (decision.kind) {
      case 'queue':
        if (decision.behind === 'export' && decision.isTakenOut) {
          const isHeld = await traceStore.exportProgress.hold(run.metadata.uid ?? '');
          // the worker has begun it meanwhile
          if (!isHeld) return after(SUMMARY_EVERY_MS);
        }
        return after(QUEUE_LOOKS_MS[decision.behind]);
      case 'start':
        await workers.start(run, decision.attempt);
        return after(SUMMARY_EVERY_MS);
      case 'ensureJob':
        await workers.start(run, attemptOf(world));
        return after(SUMMARY_EVERY_MS);
      case 'watch':
        return after(SUMMARY_EVERY_MS);
      case 'pause':
        return after(decision.ms);
      case 'block':
        return wait(decision.reason, BLOCKED_LOOK_MS);
      case 'complete':
      case 'fail':
      case 'finished':
        return done();
      default:
        return decision satisfies never;
    }
  }

  /**
   * Fences the run's workers off in the database, deletes the Job of the attempt and begins to clear what it left in
   * the bucket. Failed Jobs keep their logs.
   * @returns false where a worker has completed the run since it was observed: nothing of it is to be stopped
   */
  async #shutOut(run: BulkExportRun): Promise<boolean> {
    const { traceStore, uploads, workers } = this.#deps;
    const { uid = '' } = run.metadata;
    await traceStore.exportProgress.cancel(uid);
    const record = await traceStore.exportProgress.find(uid);
    if (record?.state === 'completed') return false;
    const attempt = attemptOf({ run, progress: record });
    const isOver = await workers.stop(run, attempt, record);
    if (record) uploads.begin({ ...run, status: { ...run.status, attempt } }, record, isOver);
    return true;
  }

  /** Workers first: one that begins after its run is forgotten would take it for a new one. */
  async #release(run: BulkExportRun): Promise<Result> {
    const { client, places, time, traceStore, uploads, workers, workerJobs } = this.#deps;
    const { uid = '', deletionTimestamp = '' } = run.metadata;
    places.leave(run);
    await traceStore.exportProgress.leave(uid);
    const record = await traceStore.exportProgress.find(uid);
    const waitedMs = (await time.now()).getTime() - Date.parse(deletionTimestamp);
    // the run is shut out: the worker continues with those of other exports
    if (waitedMs < RELEASE_WITHIN_MS && workers.isNeededByOthers(run))
      return wait(REASON.deleting, RELEASE_LOOK_MS);
    const left = await workers.removeJobs(run, 'Foreground');
    const following = workerJobs.following(run);
    const shared = following && !isJobFinished(following) ? following : undefined;
    const stopsWithinMs = left > 0 ? RELEASE_WITHIN_MS : leavesWithinMs(shared, record);
    if (waitedMs < stopsWithinMs) return wait(REASON.deleting, RELEASE_LOOK_MS);
    if (record?.intent && waitedMs < RELEASE_WITHIN_MS) {
      // not awaited: a store that answers slowly would keep this worker from the runs of others
      uploads.begin(run, record, true);
      return wait(REASON.deleting, CLEAR_LOOK_MS);
    }
    await workers.removeSecrets(run, attemptOf({ run, progress: record }));
    // else the row stays, cancelled: it fences off a worker that comes back, or still has the run before it
    if (left === 0 && !shared) await traceStore.exportProgress.forget([uid]);
    await removeFinalizer(client, RESOURCES.BulkExportRun, run, FINALIZER.exportRun);
    return done();
  }
}

/** Time within which a worker that takes several runs stops working on one of them that is shut out. */
function leavesWithinMs(shared: Job | undefined, record: ExportProgressRecord | undefined): number {
  if (!shared) return 0;
  if (isDeleting(shared)) return RELEASE_WITHIN_MS;
  const isInWork = record?.state === 'cancelled' && record.attempt > 0;
  return isInWork ? LEAVES_WITHIN_MS : 0;
}
