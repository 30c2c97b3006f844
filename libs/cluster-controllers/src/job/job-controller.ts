import { errorText, TerminalError } from '#lib/errors';
import { type ControllerSpec, fromObjects, fromOwned, isNotFound } from '#lib/kube';
import { after, controllerOf, controllerReference, done, type Result } from '#lib/reconcile';
import {
  findCondition,
  isConditionTrue,
  type Job,
  JOBS,
  type JobStatus,
  keyOf,
  keyText,
  type ObjectKey,
  type Pod,
  PODS,
  type WorkloadCondition,
} from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { makeSlowly, OwnWrites, podOfTemplate } from '../workload/own-writes.js';
import {
  type ConditionFields,
  isNamespaceTerminating,
  replaceStatus,
  timeText,
} from '../workload/workload-condition.js';
import { countPods, isTracked, type PodCount, TRACKING_FINALIZER } from './count-pods.js';
import { deadlineOf, decideJob, finishedCondition, type JobDecision, type JobEnd } from './decide-job.js';

/** Actions of the pass on the pods beside counting them. */
interface PodsDone {
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
  else if (isConditionTrue(conditions, 'Suspended') && decision.kind !== 'end')
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
  const wasSuspended = isConditionTrue(status?.conditions, 'Suspended');
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
  const before = findCondition(conditions, next.type);
  if (before?.status === next.status) return conditions;
  const condition = { ...next, lastProbeTime: at, lastTransitionTime: at };
  return before
    ? conditions.map((one) => (one.type === next.type ? condition : one))
    : [...conditions, condition];
}

/** Pods by the key of the job that controls them, whether that job still exists or not. */
const JOB_INDEX = 'job';

/** Job → pods. */
export function jobController(context: ClusterContext): ControllerSpec {
  const runner = new JobRunner(context);
  context.informers.of(PODS).addIndex(JOB_INDEX, (pod) => {
    const controller = controllerOf(pod);
    const { namespace } = pod.metadata;
    return controller?.kind === 'Job' && namespace !== undefined
      ? [keyText({ namespace, name: controller.name })]
      : [];
  });
  return {
    name: 'job',
    reconcile: (key) => runner.reconcile(key),
    concurrency: 5,
    sources: [fromObjects(context.informers.of(JOBS)), fromOwned(context.informers.of(PODS), JOBS)],
  };
}

class JobRunner {
  readonly #writes: OwnWrites<Pod>;

  constructor(private readonly context: ClusterContext) {
    this.#writes = new OwnWrites(context.informers.of(PODS));
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { client, clock, informers } = this.context;
    const text = keyText(key);
    await this.#releaseOrphans(key);
    const source = await this.#writes.source(text);
    const job = source === 'cache' ? informers.of(JOBS).find(key) : await client.find(JOBS, key);
    if (!job) {
      this.#writes.forget(text);
      return done();
    }
    // another controller's, as `spec.managedBy` says
    if (job.spec.managedBy !== undefined && job.spec.managedBy !== 'kubernetes.io/job-controller')
      return done();
    const pods = await this.#podsOf(job, source);
    if (finishedCondition(job) || job.metadata.deletionTimestamp !== undefined)
      return await this.#afterEnd(job, pods);
    if (job.spec.completionMode === 'Indexed')
      throw new TerminalError(
        'UnsupportedCompletionMode',
        `Job ${text}: completionMode Indexed is not supported by the embedded controllers; use NonIndexed or a cluster`,
      );

    const now = clock.now();
    const count = countPods(job, pods);
    const decision = decideJob(job, count, pods, now);
    const podsDone = await this.#perform(job, decision);
    const status = summarizeJob(job, count, decision, podsDone, now);
    const written = await replaceStatus(client, this.context.informers.of(JOBS), job, status);
    // noted in the status, so they can go
    await this.#release(job, count);
    this.#announce(job, written);
    if (podsDone.problem !== undefined) throw podsDone.problem;
    return nextLook(written, decision, now);
  }

  async #podsOf(job: Job, source: 'cache' | 'server'): Promise<readonly Pod[]> {
    if (source === 'cache') return this.context.informers.of(PODS).ownedBy(job);
    const { namespace } = job.metadata;
    const { items } = await this.context.client.list(PODS, namespace === undefined ? {} : { namespace });
    return items.filter((pod) => controllerOf(pod)?.uid === job.metadata.uid);
  }

  async #perform(job: Job, decision: JobDecision): Promise<PodsDone & { problem?: unknown }> {
    switch (decision.kind) {
      case 'none':
        return { created: 0, deleted: 0 };
      case 'create':
        return await this.#create(job, decision.count);
      case 'delete':
        return await this.#delete(job, decision.pods);
      case 'end':
      case 'suspend':
        return await this.#delete(job, decision.deletePods);
      default:
        return decision satisfies never;
    }
  }

  async #create(job: Job, count: number): Promise<PodsDone & { problem?: unknown }> {
    const { client, events } = this.context;
    const key = keyText(keyOf(job));
    const draft = podOfJob(job);
    const { made, problem } = await makeSlowly(count, () =>
      this.#writes.note(key, () => client.create(PODS, draft)),
    );
    const done = { created: made.length, deleted: 0 };
    for (const { metadata } of made) {
      const message = `Created pod: ${metadata.name}`;
      events.record(JOBS, job, { type: 'Normal', reason: 'SuccessfulCreate', message });
    }
    if (problem === undefined || isNamespaceTerminating(problem)) return done;
    const message = `Error creating: ${errorText(problem)}`;
    events.record(JOBS, job, { type: 'Warning', reason: 'FailedCreate', message });
    return { ...done, problem };
  }

  async #delete(job: Job, pods: readonly Pod[]): Promise<PodsDone & { problem?: unknown }> {
    if (pods.length === 0) return { created: 0, deleted: 0 };
    const { client, events } = this.context;
    this.#writes.doubt(keyText(keyOf(job)));
    for (const pod of pods) {
      const { uid, name } = pod.metadata;
      await client.delete(PODS, keyOf(pod), uid === undefined ? {} : { uid });
      events.record(JOBS, job, {
        type: 'Normal',
        reason: 'SuccessfulDelete',
        message: `Deleted pod: ${name}`,
      });
    }
    return { created: 0, deleted: pods.length };
  }

  /** Takes the tracking finalizer off pods that are counted or noted. */
  async #release(job: Job, count: PodCount): Promise<void> {
    await Promise.all(count.toRelease.map((pod) => this.#releasePod(keyOf(job), pod)));
  }

  async #releasePod(key: ObjectKey, pod: Pod): Promise<void> {
    const { uid, resourceVersion, finalizers = [] } = pod.metadata;
    const others = finalizers.filter((name) => name !== TRACKING_FINALIZER);
    try {
      await this.#writes.note(keyText(key), () =>
        this.context.client.merge(PODS, keyOf(pod), {
          metadata: {
            ...(uid === undefined ? {} : { uid }),
            ...(resourceVersion === undefined ? {} : { resourceVersion }),
            finalizers: others,
          },
        }),
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Pods of a deleted job would be kept by their finalizer without end. Asked of the API server, since the cache may lag behind a job of the same name. */
  async #releaseOrphans(key: ObjectKey): Promise<void> {
    const { client, informers } = this.context;
    const known = informers.of(JOBS).find(key)?.metadata.uid;
    const isForeign = (pod: Pod, uid: string | undefined): boolean =>
      isTracked(pod) && controllerOf(pod)?.uid !== uid;
    const pods = informers.of(PODS).byIndex(JOB_INDEX, keyText(key));
    const suspects = pods.filter((pod) => isForeign(pod, known));
    if (suspects.length === 0) return;
    const uid = (await client.find(JOBS, key))?.metadata.uid;
    for (const pod of suspects) if (isForeign(pod, uid)) await this.#releasePod(key, pod);
  }

  /** An ended or deleted job: pods that were still being counted lose their finalizer; then its time to live runs. */
  async #afterEnd(job: Job, pods: readonly Pod[]): Promise<Result> {
    for (const pod of pods.filter(isTracked)) await this.#releasePod(keyOf(job), pod);
    const { ttlSecondsAfterFinished } = job.spec;
    if (ttlSecondsAfterFinished === undefined || job.metadata.deletionTimestamp !== undefined) return done();
    const endedMs = Date.parse(finishedCondition(job)?.lastTransitionTime ?? '');
    const leftMs = endedMs + ttlSecondsAfterFinished * 1000 - this.context.clock.now().getTime();
    if (leftMs > 0) return after(leftMs);
    const { uid, resourceVersion } = job.metadata;
    await this.context.client.delete(JOBS, keyOf(job), {
      propagation: 'Foreground',
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    });
    return done();
  }

  #announce(before: Job, now: Job): void {
    const end = finishedCondition(now);
    if (!end || finishedCondition(before)) return;
    this.context.events.record(
      JOBS,
      now,
      end.type === 'Complete'
        ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
        : { type: 'Warning', reason: end.reason ?? 'Failed', message: end.message ?? '' },
    );
  }
}

/** A pod of a job: the template, the labels by which Kubernetes marks a job's pods, the tracking finalizer. */
function podOfJob(job: Job): ReturnType<typeof podOfTemplate> {
  const { name, uid = '' } = job.metadata;
  const draft = podOfTemplate(job.spec.template, job.metadata, controllerReference(JOBS, job));
  const labels = {
    ...draft.metadata.labels,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  };
  const finalizers = [...(draft.metadata.finalizers ?? []), TRACKING_FINALIZER];
  return { ...draft, metadata: { ...draft.metadata, labels, finalizers } };
}

function nextLook(job: Job, decision: JobDecision, now: Date): Result {
  if (decision.kind === 'none' && decision.afterMs !== undefined)
    return after(Math.max(100, decision.afterMs));
  const deadlineMs = deadlineOf(job);
  if (decision.kind === 'end' || deadlineMs === undefined) return done();
  return after(Math.max(100, deadlineMs - now.getTime()));
}
