import type { Job, WorkloadCondition } from '#lib/resources';
import { conditionOf } from '../workload/workload-condition.js';

/** The condition that says how a job ended, if it has. */
export function finishedCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [conditionOf(conditions, 'Complete'), conditionOf(conditions, 'Failed')];
  return ends.find((condition) => condition?.status === 'True');
}

/** The condition with the coming end of a job, set while its last pods end. */
export function endingCondition(job: Job): WorkloadCondition | undefined {
  const conditions = job.status?.conditions;
  const ends = [conditionOf(conditions, 'SuccessCriteriaMet'), conditionOf(conditions, 'FailureTarget')];
  return ends.find((condition) => condition?.status === 'True');
}
