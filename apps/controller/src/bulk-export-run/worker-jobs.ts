import { followingRunsOf } from '#lib/export-plan';
import type { Informer, Reader } from '#lib/kube';
import { type BulkExportRun, isDeleting, type Job, LABEL, type ObjectKey } from '#lib/resources';
import { isJobFinished } from '../ended-jobs.js';

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
