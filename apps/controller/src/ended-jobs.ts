import type { Job } from '#lib/resources';

export type JobCondition = NonNullable<NonNullable<Job['status']>['conditions']>[number];

/** The condition of that type, where it holds. */
export function jobCondition(job: Job | undefined, type: string): JobCondition | undefined {
  return job?.status?.conditions?.find((one) => one.type === type && one.status === 'True');
}

/** True when a Job has succeeded or failed: none of its pods runs or will. */
export function isJobFinished(job: Job): boolean {
  return jobCondition(job, 'Complete') !== undefined || jobCondition(job, 'Failed') !== undefined;
}

/** True when its worker ended because nothing was left to do. */
export function hasSucceeded(job: Job): boolean {
  return jobCondition(job, 'Complete') !== undefined;
}
