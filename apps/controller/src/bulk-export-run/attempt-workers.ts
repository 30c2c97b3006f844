import { type ExportLimits, followingRunsOf } from '#lib/export-plan';
import { type Informer, isAlreadyExists, isNotFound, type KubeClient, type Reader } from '#lib/kube';
import { buildExportJob, buildExportSecret, type ExportAttempt, type PlatformSettings } from '#lib/manifests';
import {
  type BulkExportRun,
  exportJobName,
  isDeleting,
  type Job,
  JOBS,
  keyOf,
  LABEL,
  type ObjectKey,
  type Pod,
  PODS,
  RESOURCES,
  SECRETS,
} from '#lib/resources';
import { currentTraceParent } from '#lib/telemetry';
import type { ExportProgressRecord, TraceStore } from '#lib/trace-store';
import { environmentProblem, secretProblem } from '../bulk-export-destination/store-settings.js';
import { isFinished } from '../bulk-export/export-phase.js';
import { type Caches, workspaceOf } from '../caches.js';
import { hasSucceeded, isJobFinished } from '../ended-jobs.js';

const BY_FOLLOWING_RUN = 'following-run';

/** Every run that a Job takes. */
export function runsOfJob(job: Job): readonly ObjectKey[] {
  const { labels } = job.metadata;
  const [namespace, name] = [labels?.[LABEL.exportNamespace], labels?.[LABEL.exportRun]];
  if (namespace === undefined || name === undefined) return [];
  return [{ namespace, name }, ...followingRunsOf(job).map((run) => ({ namespace, name: run.name }))];
}

/**
 * Workers that take several runs. The Job alone records that a run follows in it: that way it holds, or not,
 * for all of its runs at one moment, and ends with the Job.
 */
export class WorkerJobs {
  constructor(private readonly jobs: Pick<Informer<Job>, 'on' | 'addIndex'> & Reader<Job>) {
    jobs.addIndex(BY_FOLLOWING_RUN, (job) => followingRunsOf(job).map(({ uid }) => uid));
  }

  /** Calls back on every change of a Job. */
  onChange(handler: () => void): void {
    this.jobs.on(handler);
  }

  /** The Job in which a run follows others: an unfinished one if any, else the last one that has ended. */
  following({ metadata: { uid = '' } }: Pick<BulkExportRun, 'metadata'>): Job | undefined {
    const found = this.jobs.byIndex(BY_FOLLOWING_RUN, uid);
    return (
      found.find(isAtWork) ??
      found.sort((a, b) =>
        (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
      )[0]
    );
  }

  /** True when a worker has the run before it. */
  isTaken(run: Pick<BulkExportRun, 'metadata'>): boolean {
    const job = this.following(run);
    return job !== undefined && isAtWork(job);
  }

  /** Jobs that take several runs and have not ended. */
  shared(): readonly Job[] {
    return this.jobs.list().filter((job) => isAtWork(job) && followingRunsOf(job).length > 0);
  }

  /** The Job of an attempt, as far as it is known here. */
  find(key: ObjectKey): Job | undefined {
    return this.jobs.find(key);
  }
}

function isAtWork(job: Job): boolean {
  return !isDeleting(job) && !isJobFinished(job);
}

export interface AttemptWorkersDependencies extends Pick<Caches, 'workspaces' | 'runs'> {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'list'>;
  readonly limits: Pick<ExportLimits, 'runTimeoutMs'>;
  readonly settings: PlatformSettings;
  readonly systemNamespace: string;
  /** Handed to workers in a Secret of the system namespace. */
  readonly databaseUri: string;
  /** Keys of the lake's store, by variable, in the same Secret. */
  readonly lakeKeys: Readonly<Record<string, string>>;
  readonly traceStore: Pick<TraceStore, 'exportProgress'>;
  readonly workerJobs: Pick<WorkerJobs, 'following'>;
  /** Jobs of export runs in the system namespace. */
  readonly jobs: Informer<Job>;
}

/** Credentials with which an attempt signs its requests. */
interface AttemptCredentials {
  readonly store: Readonly<Record<string, string>>;
  readonly problem: string | undefined;
}

const JOB_LABEL = 'batch.kubernetes.io/job-name';

/**
 * Jobs and Secrets of attempts. Both are named after run and attempt, so a retry after a crash makes the same
 * ones; Secrets are never listed. The Job of a worker that takes several runs is named after the first of
 * them and is deleted, with its Secret, when the worker has ended.
 */
export class AttemptWorkers {
  readonly #deps: AttemptWorkersDependencies;

  constructor(deps: AttemptWorkersDependencies) {
    this.#deps = deps;
  }

  /**
   * The Job of an attempt; before the first one, the Job in which the run follows others. Asked of the server: a cache
   * that lags would count the attempt as lost.
   */
  async find(run: BulkExportRun, attempt: number): Promise<Job | undefined> {
    const shared = attempt <= 1 ? this.#deps.workerJobs.following(run) : undefined;
    if (attempt === 0) return shared;
    const key = this.#keyOf(uidOf(run), attempt);
    return this.#deps.jobs.find(key) ?? (await this.#deps.client.find(JOBS, key)) ?? shared;
  }

  /** Pods of a Job. Only the server knows what they ended with: a cache may show the end of the Job before theirs. */
  async podsOf({ metadata: { name } }: Job): Promise<readonly Pod[]> {
    const { client, systemNamespace: namespace } = this.#deps;
    return (await client.list(PODS, { namespace, labelSelector: `${JOB_LABEL}=${name}` })).items;
  }

  /** Reason why an attempt cannot begin with the credentials of the run; undefined when it can. */
  async problemOf(run: BulkExportRun): Promise<string | undefined> {
    return (await this.#credentialsOf(run)).problem;
  }

  /**
   * Makes Secret and Job of an attempt, where they do not exist, and deletes the Secret of the one before.
   * Runs that were kept from another worker are released first, whatever the attempt: the start of the first
   * may have been cut short.
   * @param following runs that the worker takes one after the other afterwards
   */
  async start(run: BulkExportRun, number: number, following: readonly BulkExportRun[] = []): Promise<void> {
    const { client, databaseUri, lakeKeys, limits, settings, systemNamespace, traceStore } = this.#deps;
    const attempt: ExportAttempt = {
      run,
      number,
      following,
      systemNamespace,
      timeoutMs: limits.runTimeoutMs,
      traceParent: currentTraceParent(),
    };
    await traceStore.exportProgress.free([run, ...following].map(({ metadata: { uid = '' } }) => uid));
    const { store, problem } = await this.#credentialsOf(run);
    // changed since the pass began: the next pass reports it
    if (problem !== undefined) return;
    const credentials = { databaseUri, lakeKeys, store, trustedCa: settings.trustedCa };
    await ignoring(isAlreadyExists, client.create(SECRETS, buildExportSecret(attempt, credentials)));
    await ignoring(
      isAlreadyExists,
      // the runs that follow find it in the cache
      client.create(JOBS, buildExportJob(attempt, settings)).then((job) => this.#deps.jobs.seen(job)),
    );
    if (number === 1) return;
    const former = number === 2 ? this.#deps.workerJobs.following(run) : undefined;
    // where the run had a worker of its own besides, that Job may continue with others
    const isOver = former !== undefined && isJobFinished(former);
    for (const key of [this.#keyOf(uidOf(run), number - 1), ...(isOver ? [keyOf(former)] : [])])
      await ignoring(isNotFound, client.delete(SECRETS, key));
  }

  /**
   * Stops the worker of a run that is shut out already. Failed Jobs keep their logs; the Secret of the last attempt
   * stays until nothing of it is left in the bucket.
   * @returns true when its worker has surely ended: that of a Job which is gone may have a moment left
   */
  async stop(
    run: BulkExportRun,
    attempt: number,
    record: ExportProgressRecord | undefined,
  ): Promise<boolean> {
    const shared = attempt <= 1 ? this.#deps.workerJobs.following(run) : undefined;
    const own = this.#keyOf(uidOf(run), attempt);
    // the fence takes the run from a worker that continues with others
    const kept = [shared, this.#deps.jobs.find(own)].find((job) => job && this.#isNeeded(job, run));
    if (shared && shared !== kept) await this.#shareOut(shared);
    const keys = [own, ...(shared ? [keyOf(shared)] : [])];
    const stopped = keys.filter(({ name }) => name !== kept?.metadata.name);
    const isOver = (await this.#stopJobs(stopped)) && !kept;
    const isSecretNeeded = record?.intent !== undefined || kept?.metadata.name === own.name;
    await this.removeSecrets(run, isSecretNeeded ? attempt - 1 : attempt);
    return isOver;
  }

  /** True when the worker of a Job has runs of other exports before it, or at work. */
  #isNeeded(job: Job, run: BulkExportRun): boolean {
    if (!isAtWork(job)) return false;
    const others = runsOfJob(job).map((key) => this.#deps.runs.find(key));
    return others.some(
      (one) => one && one.spec.exportName !== run.spec.exportName && !isFinished(one) && !isDeleting(one),
    );
  }

  /**
   * Deletes the logs of a worker that succeeded and of the attempts before it: they are not needed any more. The Job of a
   * worker of several runs is kept until it has ended: the other runs read its outcome.
   * @returns false while its Secret is needed for its leftovers in the bucket
   */
  async clear(run: BulkExportRun, attempt: number): Promise<boolean> {
    const job = this.#deps.jobs.find(this.#keyOf(uidOf(run), 1));
    if (job && followingRunsOf(job).length > 0 && (attempt <= 1 || !isJobFinished(job)))
      return await this.clearShared(run);
    await this.removeJobs(run, 'Background');
    await this.removeSecrets(run, attempt);
    return true;
  }

  /**
   * Clears what a finished run left to the runs that its worker took after it, once that has ended.
   * @returns false while its Secret is needed for its leftovers in the bucket
   */
  async clearShared(run: BulkExportRun): Promise<boolean> {
    const { client, jobs, traceStore } = this.#deps;
    const job = jobs.find(this.#keyOf(uidOf(run), 1));
    if (!job || followingRunsOf(job).length === 0 || isDeleting(job) || !isJobFinished(job)) return true;
    const records = await traceStore.exportProgress.list(this.#uidsOf(job));
    const key = keyOf(job);
    if ([...records.values()].some(({ intent }) => intent)) return false;
    // rows of runs that were deleted fenced its worker off
    await traceStore.exportProgress.forget(this.#deletedOf(job));
    await ignoring(isNotFound, client.delete(SECRETS, key));
    if (hasSucceeded(job))
      await ignoring(isNotFound, client.delete(JOBS, key, { propagation: 'Background' }));
    return true;
  }

  /** True when the worker that is named after a run has runs of other exports to take. */
  isNeededByOthers(run: BulkExportRun): boolean {
    const job = this.#deps.jobs.find(this.#keyOf(uidOf(run), 1));
    return job !== undefined && this.#isNeeded(job, run);
  }

  /** Asks for the deletion of all Jobs of a run; answers how many there are still. */
  async removeJobs(run: BulkExportRun, propagation: 'Background' | 'Foreground'): Promise<number> {
    const { client, systemNamespace: namespace } = this.#deps;
    const { name, namespace: home = '' } = run.metadata;
    const labelSelector = `${LABEL.exportRun}=${name},${LABEL.exportNamespace}=${home}`;
    const { items } = await client.list(JOBS, { namespace, labelSelector });
    for (const job of items.filter((one) => !isDeleting(one)))
      await ignoring(isNotFound, client.delete(JOBS, keyOf(job), { propagation }));
    return items.length;
  }

  /** Deletes the Secrets of all attempts up to this one. */
  async removeSecrets(run: BulkExportRun, last: number): Promise<void> {
    for (let attempt = 1; attempt <= last; attempt++)
      await ignoring(isNotFound, this.#deps.client.delete(SECRETS, this.#keyOf(uidOf(run), attempt)));
  }

  /**
   * Deletes the leftovers of a run that was removed without us: a finalizer taken off by hand, a leader that
   * came back late.
   */
  async sweep(key: ObjectKey): Promise<void> {
    const { client, jobs, systemNamespace } = this.#deps;
    const left = jobs
      .list(systemNamespace)
      .filter(
        (job) =>
          !isDeleting(job) &&
          job.metadata.labels?.[LABEL.exportRun] === key.name &&
          job.metadata.labels[LABEL.exportNamespace] === key.namespace,
      );
    if (left.length === 0 || (await client.find(RESOURCES.BulkExportRun, key))) return;
    for (const job of left) {
      await ignoring(isNotFound, client.delete(SECRETS, keyOf(job)));
      await ignoring(isNotFound, client.delete(JOBS, keyOf(job)));
    }
  }

  #keyOf(uid: string, attempt: number): ObjectKey & { namespace: string } {
    return { namespace: this.#deps.systemNamespace, name: exportJobName(uid, attempt) };
  }

  /**
   * Credentials of the destination in base64, empty for those of the environment, and the reason why they
   * cannot serve.
   */
  async #credentialsOf(run: BulkExportRun): Promise<AttemptCredentials> {
    const name = run.spec.destination.credentialsSecretName;
    const { namespace = '' } = run.metadata;
    if (name === undefined)
      return { store: {}, problem: environmentProblem(workspaceOf(this.#deps.workspaces, namespace)) };
    const secret = await this.#deps.client.find(SECRETS, { namespace, name });
    return { store: secret?.data ?? {}, problem: secretProblem(name, secret) };
  }

  /**
   * A worker of several runs has one Secret, which is deleted with it. The run in work gets a copy under the
   * name of its own attempt, for clearing its leftovers in the bucket, whichever of the runs the worker is
   * stopped for: after that the Job cannot be found any more.
   */
  async #shareOut(shared: Job): Promise<void> {
    const { client, traceStore } = this.#deps;
    const key = keyOf(shared);
    const records = await traceStore.exportProgress.list(this.#uidsOf(shared));
    const isInWork = ({ intent, attempt }: ExportProgressRecord): boolean =>
      intent !== undefined && attempt <= 1;
    const inWork = [...records.values()].filter(isInWork).map(({ runUid }) => runUid);
    const copied = followingRunsOf(shared).filter(({ uid }) => inWork.includes(uid));
    const secret = copied.length > 0 ? await client.find(SECRETS, key) : undefined;
    if (secret)
      for (const run of copied) {
        const { type, data, metadata } = secret;
        const labels = { ...metadata.labels, [LABEL.exportRun]: run.name };
        const copy = { metadata: { ...this.#keyOf(run.uid, 1), labels }, immutable: true, type, data };
        await ignoring(isAlreadyExists, client.create(SECRETS, copy));
        await this.#takeBack(run.uid);
      }
    // it is that of the run in work itself
    if (inWork.length > copied.length) return;
    await ignoring(isNotFound, client.delete(SECRETS, key));
  }

  /** A run that was completed meanwhile has been cleared already. */
  async #takeBack(runUid: string): Promise<void> {
    const record = await this.#deps.traceStore.exportProgress.find(runUid);
    if (record && record.state !== 'completed') return;
    await ignoring(isNotFound, this.#deps.client.delete(SECRETS, this.#keyOf(runUid, 1)));
  }

  /** Uids of all runs that a Job takes, including the one that it is named after. */
  #uidsOf(job: Job): readonly string[] {
    const [first] = runsOfJob(job);
    const { uid } = (first && this.#deps.runs.find(first)?.metadata) ?? {};
    return [...(uid === undefined ? [] : [uid]), ...followingRunsOf(job).map((run) => run.uid)];
  }

  /** Uids of the runs that followed in a Job and do not exist any more. */
  #deletedOf(job: Job): readonly string[] {
    const namespace = job.metadata.labels?.[LABEL.exportNamespace];
    return followingRunsOf(job)
      .filter(({ name, uid }) => this.#deps.runs.find({ namespace, name })?.metadata.uid !== uid)
      .map(({ uid }) => uid);
  }

  /** Deletes those of the Jobs that are unfinished. @returns true when there was one, and all had ended */
  async #stopJobs(keys: readonly ObjectKey[]): Promise<boolean> {
    const { client } = this.#deps;
    const haveEnded: boolean[] = [];
    for (const key of keys) {
      // only the server knows: a cache that lags shows none, and a Job just made does not say yet that it is active
      const job = await client.find(JOBS, key);
      if (!job) continue;
      haveEnded.push(isJobFinished(job));
      if (!isJobFinished(job)) await ignoring(isNotFound, client.delete(JOBS, key));
    }
    return haveEnded.length > 0 && haveEnded.every(Boolean);
  }
}

function uidOf({ metadata: { uid = '' } }: BulkExportRun): string {
  return uid;
}

async function ignoring(isExpected: (error: unknown) => boolean, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isExpected(error)) throw error;
  }
}
