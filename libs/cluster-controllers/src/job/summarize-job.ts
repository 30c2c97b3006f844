import type { Job, JobStatus, WorkloadCondition } from '#lib/resources';
import { type ConditionFields, conditionOf, timeText } from '../workload/workload-condition.js';
import type { PodCount } from './count-pods.js';
import type { JobDecision, JobEnd } from './decide-job.js';

/** Actions of the pass on the pods beside counting them. */
export interface PodsDone {
  readonly created: number;
  readonly deleted: number;
}

/** The status of a job after a pass; conditions, reasons and messages are Kubernetes' own. */
export function summarizeJob(
  job: Job,
  count: PodCount,
  decision: JobDecision,
  pods: PodsDone,
  now: Date,
): JobStatus {
  const at = timeText(now);
  const before = job.status;
  const isSuspended = decision.kind === 'suspend';
  let conditions = before?.conditions ?? [];
  if (isSuspended)
    conditions = set(
      conditions,
      { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' },
      at,
    );
  else if (conditionOf(conditions, 'Suspended')?.status === 'True' && decision.kind !== 'end')
    conditions = set(
      conditions,
      { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' },
      at,
    );
  if (decision.kind === 'end') conditions = ended(conditions, decision.end, decision.isOver, at);

  const isOver = decision.kind === 'end' && decision.isOver;
  const startTime = startTimeOf(job, isSuspended, at);
  const active = Math.max(0, count.active.length + pods.created - pods.deleted);
  const { succeeded, failed } = count.uncounted;
  return {
    ...(conditions.length > 0 ? { conditions } : {}),
    ...(startTime === undefined ? {} : { startTime }),
    ...(isOver && decision.end.result === 'complete' ? { completionTime: at } : {}),
    ...(active > 0 ? { active } : {}),
    ...(count.succeeded > 0 ? { succeeded: count.succeeded } : {}),
    ...(count.failed > 0 ? { failed: count.failed } : {}),
    ready: isOver ? 0 : Math.min(count.ready, active),
    terminating: isOver ? 0 : count.terminating + pods.deleted,
    uncountedTerminatedPods: {
      ...(succeeded.length > 0 ? { succeeded } : {}),
      ...(failed.length > 0 ? { failed } : {}),
    },
  };
}

/** The deadline counts from it: set with the first pass that is not suspended, and anew when the job is resumed. */
function startTimeOf({ status }: Job, isSuspended: boolean, at: string): string | undefined {
  if (isSuspended) return status?.startTime;
  const wasSuspended = conditionOf(status?.conditions, 'Suspended')?.status === 'True';
  return wasSuspended ? at : (status?.startTime ?? at);
}

/** First the condition that announces the end, then, with the last pod gone, the end itself. */
function ended(
  conditions: readonly WorkloadCondition[],
  end: JobEnd,
  isOver: boolean,
  at: string,
): readonly WorkloadCondition[] {
  const [announced, final] =
    end.result === 'complete' ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed'];
  const fields = { status: 'True', reason: end.reason, message: end.message } as const;
  const before = set(conditions, { type: announced ?? '', ...fields }, at);
  return isOver ? set(before, { type: final ?? '', ...fields }, at) : before;
}

function set(
  conditions: readonly WorkloadCondition[],
  next: ConditionFields,
  at: string,
): readonly WorkloadCondition[] {
  const before = conditionOf(conditions, next.type);
  if (before?.status === next.status) return conditions;
  const condition = { ...next, lastProbeTime: at, lastTransitionTime: at };
  return before
    ? conditions.map((one) => (one.type === next.type ? condition : one))
    : [...conditions, condition];
}
