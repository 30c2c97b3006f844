import type { ExportLimits } from '#lib/export-plan';
import {
  addFinalizer,
  type EventRecorder,
  type Informer,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  removeFinalizer,
  StatusWriter,
} from '#lib/kube';
import { buildExportJob, buildExportSecret, type ExportAttempt, type PlatformSettings } from '#lib/manifests';
import { after, done, finalizerStep, isOwnedBy, type Result, wait } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportRun,
  exportJobName,
  FINALIZER,
  isDeleting,
  type Job,
  JOBS,
  keyOf,
  LABEL,
  type ObjectKey,
  PODS,
  REASON,
  RESOURCES,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import { currentTraceParent } from '#lib/telemetry';
import type { ExportProgressRecord, TraceStore } from '#lib/trace-store';
import { environmentProblem, secretProblem } from '../bulk-export-destination/credentials-problem.js';
import { limitsOf } from '../bulk-export/workspace-limits.js';
import { isFinished } from '../bulk-export/export-phase.js';
import { workspaceOf } from '../caches.js';
import type { DatabaseTime } from '../database-time.js';
import { hasSucceeded, isJobFinished } from './attempt-end.js';
import { blockedByCredentials, decideRun, MARK_GONE, PREDECESSOR_GONE, type RunDecision } from './decide.js';
import type { FollowingRuns } from './following-runs.js';
import type { LeftUploads } from './left-uploads.js';
import { countDecision } from './observe-export-runs.js';
import { OneAtATime } from './one-at-a-time.js';
import type { RunPlaces } from './run-places.js';
import { summarizeRun } from './run-status.js';
import { followingRunsOf, runsOfJob, type WorkerJobs } from './worker-jobs.js';
import { attemptOf, type ExportRunWorld } from './world.js';

export interface BulkExportRunDependencies {
  readonly client: KubeClient;
  readonly events: EventRecorder;
  readonly limits: ExportLimits;
  readonly settings: PlatformSettings;
  readonly systemNamespace: string;
  /** Handed to workers in a Secret of the system namespace. */
  readonly databaseUri: string;
  readonly traceStore: Pick<TraceStore, 'exportProgress'>;
  readonly workerJobs: Pick<WorkerJobs, 'following' | 'isTaken'>;
  readonly following: Pick<FollowingRuns, 'choose'>;
  readonly time: DatabaseTime;
  readonly workspaces: Informer<Workspace>;
  readonly exports: Informer<BulkExport>;
  readonly runs: Informer<BulkExportRun>;
  readonly places: RunPlaces;
  readonly uploads: Pick<LeftUploads, 'begin'>;
  /** Of the system namespace, those of export runs. */
  readonly jobs: Informer<Job>;
}

/** What an attempt signs its requests with. */
interface AttemptCredentials {
  readonly store: Readonly<Record<string, string>>;
  readonly problem: string | undefined;
}

const SUMMARY_EVERY_MS = 2_000;
/** A run that ends wakes the next one; this is for limits that were raised. */
const QUEUE_LOOKS_MS = { export: 60_000, platform: 3_000, worker: SUMMARY_EVERY_MS } as const;
/** While the other runs of a new export are being created. */
const SIBLINGS_LOOK_MS = 200;
const UNCLEARED_LOOK_MS = 10_000;
const BLOCKED_LOOK_MS = 5_000;
/** Of a run that has its place. */
const AT_WORK = { place: 0, atWork: { all: 0, ofWorkspace: 0, ahead: 0 } } as const;
const RELEASE_LOOK_MS = 1_000;
const CLEAR_LOOK_MS = 1_000;
/** A lost node never ends its pods, and a deletion must not wait for that. */
const RELEASE_WITHIN_MS = 60_000;
/** A cache that has not seen our last report yet. */
const BEHIND_MS = 500;
const JOB_LABEL = 'batch.kubernetes.io/job-name';

/**
 * Carries a BulkExportRun to its end, one Job an attempt. The attempt's number stands in the status before its Job is
 * made, and the Job's name follows from it, so a controller that dies in between makes the same Job again. Progress is
 * the worker's, in Postgres; the status gets a copy of it every few seconds.
 */
export class BulkExportRunReconciler {
  readonly #deps: BulkExportRunDependencies;
  readonly #status: StatusWriter;
  /** By uid of the export: two of its runs that begin at one moment would take the same others along. */
  readonly #begins = new OneAtATime();

  constructor(deps: BulkExportRunDependencies) {
    this.#deps = deps;
    this.#status = new StatusWriter(deps.client, { fieldManager: 'agentplane-controller-export-run' });
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#deps.runs.find(key);
    if (!found) return await this.#sweep(key);
    // attempts that it does not show would be begun again, or left running
    if (this.#status.isBehind(found)) return wait(REASON.pending, BEHIND_MS);
    const step = finalizerStep(found, FINALIZER.exportRun);
    if (step === 'gone') return done();
    if (step === 'finalize') return await this.#release(found);
    if (isFinished(found)) return await this.#clearShared(found);
    const run = await addFinalizer(this.#deps.client, RESOURCES.BulkExportRun, found, FINALIZER.exportRun);
    const world = await this.#observe(run);
    const decision = await this.#decide(world);
    // a run that is over is never looked at again, so what it leaves is cleared away before that is said
    if (decision.kind === 'fail') await this.#shutOut(run);
    if (decision.kind === 'complete') await this.#clearAway(run);
    if (decision.kind === 'start' && decision.attempt === 1) return await this.#begin(world, decision);
    await this.#report(world, decision);
    return await this.#perform(world, decision);
  }

  /** The first attempt, with other runs that its worker takes afterwards where they are light. */
  async #begin(world: ExportRunWorld, decision: RunDecision): Promise<Result> {
    const { following, workerJobs } = this.#deps;
    const { run, bulkExport } = world;
    if (!bulkExport) return after(0);
    return await this.#begins.do(bulkExport.metadata.uid ?? '', async () => {
      // others of the export may have begun while this one waited, and have taken it along
      const now = { ...world, ...this.#placeOf(run, bulkExport), job: workerJobs.following(run) };
      const again = decideRun(now);
      if (again.kind !== decision.kind) {
        await this.#report(now, again);
        return await this.#perform(now, again);
      }
      const chosen = await following.choose(run, bulkExport);
      if (chosen === 'later') {
        this.#deps.places.line.leave(run.metadata.namespace ?? '');
        return after(SIBLINGS_LOOK_MS);
      }
      this.#deps.places.line.begin(run.metadata.namespace ?? '');
      await this.#report(world, decision);
      await this.#startAttempt(run, 1, await this.#prepare(chosen));
      return after(SUMMARY_EVERY_MS);
    });
  }

  /** What a run begins with stands in its progress before a worker has it. @returns those that can begin */
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
    const { problem } = await this.#credentialsOf(world.run);
    return problem === undefined ? decision : blockedByCredentials(problem);
  }

  /** Before it is its turn: the export that is continued may be deleted meanwhile. @returns whether it is as it should be */
  async #adopt({ metadata: { uid = '' }, spec: { predecessorUid } }: BulkExportRun): Promise<boolean> {
    return (
      predecessorUid === undefined || (await this.#deps.traceStore.exportProgress.adopt(uid, predecessorUid))
    );
  }

  /** After what is adopted, which is older. @returns whether it knows which rows to leave out */
  async #beginLate({ metadata: { uid = '' }, spec: { lateOfUid } }: BulkExportRun): Promise<boolean> {
    return lateOfUid === undefined || (await this.#deps.traceStore.exportProgress.beginLate(uid, lateOfUid));
  }

  async #observe(run: BulkExportRun): Promise<ExportRunWorld> {
    const { client, exports, traceStore, time, workspaces } = this.#deps;
    const { namespace = '', uid = '' } = run.metadata;
    const progress = await traceStore.exportProgress.find(uid);
    const attempt = attemptOf({ run, progress });
    const named = exports.find({ namespace, name: run.spec.exportName });
    const bulkExport = named && isOwnedBy(run, named) && !isDeleting(named) ? named : undefined;
    const job = await this.#findJob(run, attempt);
    const ofJob = {
      namespace: this.#deps.systemNamespace,
      labelSelector: `${JOB_LABEL}=${job?.metadata.name}`,
    };
    return {
      run,
      bulkExport,
      ...(bulkExport && attempt === 0 ? this.#placeOf(run, bulkExport) : AT_WORK),
      job,
      // only the server knows what they ended with: a cache may show the end of the Job before that of its pods
      pods: job && attempt > 0 && isJobFinished(job) ? (await client.list(PODS, ofJob)).items : [],
      progress,
      now: await time.now(),
      limits: limitsOf(this.#deps.limits, workspaceOf(workspaces, namespace)),
    };
  }

  #placeOf(run: BulkExportRun, bulkExport: BulkExport): Pick<ExportRunWorld, 'place' | 'atWork'> {
    const { places } = this.#deps;
    return { place: places.of(run, bulkExport), atWork: places.atWork(run.metadata.namespace ?? '') };
  }

  /**
   * The Job of an attempt; before the first one, the Job in which the run follows others. Asked of the server: a cache
   * that lags would count the attempt as lost.
   */
  async #findJob(run: BulkExportRun, attempt: number): Promise<Job | undefined> {
    const shared = attempt <= 1 ? this.#deps.workerJobs.following(run) : undefined;
    if (attempt === 0) return shared;
    const key = this.#jobKey(run, attempt);
    return this.#deps.jobs.find(key) ?? (await this.#deps.client.find(JOBS, key)) ?? shared;
  }

  #jobKey({ metadata: { uid = '' } }: BulkExportRun, attempt: number): ObjectKey & { namespace: string } {
    return { namespace: this.#deps.systemNamespace, name: exportJobName(uid, attempt) };
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
    const { namespace = '' } = run.metadata;
    switch (decision.kind) {
      case 'queue':
        if (decision.behind === 'platform') this.#deps.places.line.wait(namespace, keyOf(run));
        return after(QUEUE_LOOKS_MS[decision.behind]);
      case 'start':
        await this.#startAttempt(run, decision.attempt);
        return after(SUMMARY_EVERY_MS);
      case 'ensureJob':
        await this.#startAttempt(run, attemptOf(world));
        return after(SUMMARY_EVERY_MS);
      case 'watch':
        return after(SUMMARY_EVERY_MS);
      case 'pause':
        return after(decision.ms);
      case 'block':
        this.#deps.places.line.leave(namespace);
        return wait(decision.reason, BLOCKED_LOOK_MS);
      case 'complete':
      case 'fail':
      case 'finished':
        return done();
      default:
        return decision satisfies never;
    }
  }

  async #startAttempt(
    run: BulkExportRun,
    number: number,
    following: readonly BulkExportRun[] = [],
  ): Promise<void> {
    const { client, databaseUri, limits, settings, systemNamespace } = this.#deps;
    const attempt: ExportAttempt = {
      ...{ run, number, following, systemNamespace, timeoutMs: limits.runTimeoutMs },
      traceParent: currentTraceParent(),
    };
    const { store, problem } = await this.#credentialsOf(run);
    // changed since the pass began: the next pass reports it
    if (problem !== undefined) return;
    const credentials = { databaseUri, store };
    await ignoring(isAlreadyExists, client.create(SECRETS, buildExportSecret(attempt, credentials)));
    await ignoring(
      isAlreadyExists,
      // the runs that follow find it in the cache
      client.create(JOBS, buildExportJob(attempt, settings)).then((job) => this.#deps.jobs.seen(job)),
    );
    if (number === 1) return;
    const former = number === 2 ? this.#deps.workerJobs.following(run) : undefined;
    // where the run had a worker of its own besides, that Job may go on with others
    const isOver = former !== undefined && isJobFinished(former);
    for (const key of [this.#jobKey(run, number - 1), ...(isOver ? [keyOf(former)] : [])])
      await ignoring(isNotFound, client.delete(SECRETS, key));
  }

  /** Of the destination, base64, none for those of the environment; and why they cannot serve. */
  async #credentialsOf(run: BulkExportRun): Promise<AttemptCredentials> {
    const name = run.spec.destination.credentialsSecretName;
    const { namespace = '' } = run.metadata;
    if (name === undefined)
      return { store: {}, problem: environmentProblem(workspaceOf(this.#deps.workspaces, namespace)) };
    const secret = await this.#deps.client.find(SECRETS, { namespace, name });
    return { store: secret?.data ?? {}, problem: secretProblem(name, secret) };
  }

  /**
   * Fences the run's workers off in the database, deletes the Job of the attempt and begins to clear what it left in
   * the bucket. Failed Jobs keep their logs.
   */
  async #shutOut(run: BulkExportRun): Promise<void> {
    const { traceStore, uploads } = this.#deps;
    const { uid = '' } = run.metadata;
    await traceStore.exportProgress.cancel(uid);
    const record = await traceStore.exportProgress.find(uid);
    const attempt = attemptOf({ run, progress: record });
    const shared = attempt <= 1 ? this.#deps.workerJobs.following(run) : undefined;
    if (shared) await this.#takeSecret(run, shared, record);
    const isOver = !(await this.#stopWorkers([
      this.#jobKey(run, attempt),
      ...(shared ? [keyOf(shared)] : []),
    ]));
    // the last one's Secret is needed until nothing of it is left in the bucket
    await this.#removeSecrets(run, record?.intent === undefined);
    if (record) uploads.begin({ ...run, status: { ...run.status, attempt } }, record, isOver);
  }

  /**
   * A worker of several runs has one Secret, which goes with it. The run in work keeps a copy under the name of its own
   * attempt, for what it left in the bucket.
   */
  async #takeSecret(
    run: BulkExportRun,
    shared: Job,
    record: ExportProgressRecord | undefined,
  ): Promise<void> {
    const { client, traceStore } = this.#deps;
    if (record?.intent) {
      const secret = await client.find(SECRETS, keyOf(shared));
      if (!secret) return;
      const { type, data, metadata } = secret;
      const labels = { ...metadata.labels, [LABEL.exportRun]: run.metadata.name };
      const copy = { metadata: { ...this.#jobKey(run, 1), labels }, immutable: true, type, data };
      await ignoring(isAlreadyExists, client.create(SECRETS, copy));
    } else {
      const others = await traceStore.exportProgress.list(this.#uidsOf(shared));
      if ([...others.values()].some(({ intent }) => intent)) return;
    }
    await ignoring(isNotFound, client.delete(SECRETS, keyOf(shared)));
  }

  /** Of every run that a Job takes, the one that it is named after included. */
  #uidsOf(job: Job): readonly string[] {
    const [first] = runsOfJob(job);
    const { uid } = (first && this.#deps.runs.find(first)?.metadata) ?? {};
    return [...(uid === undefined ? [] : [uid]), ...followingRunsOf(job).map((run) => run.uid)];
  }

  /** Deletes those of the Jobs that go on. @returns whether there was one */
  async #stopWorkers(keys: readonly ObjectKey[]): Promise<boolean> {
    const { client } = this.#deps;
    let wasAtWork = false;
    for (const key of keys) {
      // only the server knows: a cache that lags shows none, and a Job just made does not say yet that it is active
      const job = await client.find(JOBS, key);
      if (!job || isJobFinished(job)) continue;
      wasAtWork = true;
      await ignoring(isNotFound, client.delete(JOBS, key));
    }
    return wasAtWork;
  }

  /** Nobody needs the log of a worker that succeeded, nor those of the attempts before. */
  async #clearAway(run: BulkExportRun): Promise<void> {
    const job = this.#deps.jobs.find(this.#jobKey(run, 1));
    // its worker has other runs to take; when it ends, `clearShared` does the rest
    if (job && followingRunsOf(job).length > 0 && !isJobFinished(job)) return;
    await this.#removeJobs(run, 'Background');
    await this.#removeSecrets(run);
  }

  /** What a finished run left to the runs that its worker took after it. */
  async #clearShared(run: BulkExportRun): Promise<Result> {
    const { client, jobs, traceStore } = this.#deps;
    const job = jobs.find(this.#jobKey(run, 1));
    const following = job ? followingRunsOf(job) : [];
    if (!job || following.length === 0 || isDeleting(job) || !isJobFinished(job)) return done();
    const records = await traceStore.exportProgress.list(this.#uidsOf(job));
    const key = keyOf(job);
    // with its Secret, what it left in the bucket is cleared away
    if ([...records.values()].some(({ intent }) => intent)) return after(UNCLEARED_LOOK_MS);
    await ignoring(isNotFound, client.delete(SECRETS, key));
    if (hasSucceeded(job))
      await ignoring(isNotFound, client.delete(JOBS, key, { propagation: 'Background' }));
    return done();
  }

  /** Workers first: one that begins after its run is forgotten would take it for a new one. */
  async #release(run: BulkExportRun): Promise<Result> {
    const { client, time, traceStore, uploads } = this.#deps;
    const { uid = '', deletionTimestamp = '' } = run.metadata;
    await traceStore.exportProgress.cancel(uid);
    // the Job of another run, whose worker may still claim this one
    const isTaken = this.#deps.workerJobs.isTaken(run);
    const left = (await this.#removeJobs(run, 'Foreground')) + (isTaken ? 1 : 0);
    const waitedMs = (await time.now()).getTime() - Date.parse(deletionTimestamp);
    const isInTime = waitedMs < RELEASE_WITHIN_MS;
    if (left > 0 && isInTime) return wait(REASON.deleting, RELEASE_LOOK_MS);
    const record = await traceStore.exportProgress.find(uid);
    if (record?.intent && isInTime) {
      // not awaited: a store that answers slowly would keep this worker from the runs of others
      uploads.begin(run, record, true);
      return wait(REASON.deleting, CLEAR_LOOK_MS);
    }
    await this.#removeSecrets(run);
    // else the row stays, cancelled: it fences off a worker that comes back
    if (left === 0) await traceStore.exportProgress.forget([uid]);
    await removeFinalizer(client, RESOURCES.BulkExportRun, run, FINALIZER.exportRun);
    return done();
  }

  /** What a run left that went without us: a finalizer taken off by hand, a leader that came back late. */
  async #sweep(key: ObjectKey): Promise<Result> {
    const { client, jobs, systemNamespace } = this.#deps;
    const left = jobs
      .list(systemNamespace)
      .filter(
        (job) =>
          !isDeleting(job) &&
          job.metadata.labels?.[LABEL.exportRun] === key.name &&
          job.metadata.labels[LABEL.exportNamespace] === key.namespace,
      );
    if (left.length === 0 || (await client.find(RESOURCES.BulkExportRun, key))) return done();
    for (const job of left) {
      await ignoring(isNotFound, client.delete(SECRETS, keyOf(job)));
      await ignoring(isNotFound, client.delete(JOBS, keyOf(job)));
    }
    return done();
  }

  /** Asks for the deletion of all Jobs of a run; answers how many there are still. */
  async #removeJobs(run: BulkExportRun, propagation: 'Background' | 'Foreground'): Promise<number> {
    const { client, systemNamespace: namespace } = this.#deps;
    const { name, namespace: home = '' } = run.metadata;
    const labelSelector = `${LABEL.exportRun}=${name},${LABEL.exportNamespace}=${home}`;
    const { items } = await client.list(JOBS, { namespace, labelSelector });
    for (const job of items.filter((one) => !isDeleting(one)))
      await ignoring(isNotFound, client.delete(JOBS, keyOf(job), { propagation }));
    return items.length;
  }

  /** Secrets are never listed: their names follow from the attempts. */
  async #removeSecrets(run: BulkExportRun, isLastToo = true): Promise<void> {
    const last = (run.status?.attempt ?? 0) - (isLastToo ? 0 : 1);
    for (let attempt = 1; attempt <= last; attempt++)
      await ignoring(isNotFound, this.#deps.client.delete(SECRETS, this.#jobKey(run, attempt)));
  }
}

async function ignoring(isExpected: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}
