import type { Job, WorkloadCondition } from '#lib/resources';
import { conditionOf } from '../workload/workload-condition.js';

/** The condition that says how a job ended, if it has. */
export function finishedCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [conditionOf(conditions, 'Complete'), conditionOf(conditions, 'Failed')];
  return ends.find((condition) => condition?.status === 'True');
}

/** The condition that says how a job is about to end, once its last pods are gone. */
export function endingCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [conditionOf(conditions, 'SuccessCriteriaMet'), conditionOf(conditions, 'FailureTarget')];
  return ends.find((condition) => condition?.status === 'True');
}
