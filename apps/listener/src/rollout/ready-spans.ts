import { wantedQueueReplicas, wantedReplicas } from '#lib/manifests';
import { COMPONENT, type Deployment, isPodReady, LABEL, type ObjectKey, type Pod } from '#lib/resources';
import type { RevisionWorld, RolloutWorld } from './world.js';

/** Passes over a deploying revision are 20 seconds apart at most. */
const GAP_MS = 60_000;

/** Start of deadlines, in milliseconds of the clock. */
export interface Awake {
  /** No deadline counts from before this time. */
  readonly awakeSinceMs: number;
  /** No deadline passes before this time. */
  readonly graceUntilMs: number;
}

/**
 * Time since which this program has been able to observe. After a machine slept, a process was stopped or the
 * API server was unavailable, deadlines have passed in which nothing could run or be seen; a revision must
 * not fail for that, since its failure is final. A restart extends no deadline, but revisions get a grace to
 * recover from an outage.
 */
export class Wakefulness {
  #lookedAtMs: number | undefined;
  #sinceMs = 0;
  #graceUntilMs = 0;

  /** @param graceMs from the first look */
  constructor(private readonly graceMs: number) {}

  /**
   * Called in every pass.
   * @param isBlind true when the API server cannot be followed at present
   */
  look(now: Date, isBlind: boolean): Awake {
    const nowMs = now.getTime();
    if (this.#lookedAtMs === undefined) this.#graceUntilMs = nowMs + this.graceMs;
    // after a clock was set back, recorded times are in the future
    else if (isBlind || nowMs - this.#lookedAtMs > GAP_MS || nowMs < this.#lookedAtMs) this.#sinceMs = nowMs;
    this.#lookedAtMs = nowMs;
    return { awakeSinceMs: this.#sinceMs, graceUntilMs: this.#graceUntilMs };
  }
}

/**
 * True when every pod that should run is ready, of exactly these templates. Pods of the queue count too: runs
 * wait for them.
 */
export function isWorkloadReady({
  workload,
  queue,
  revision,
  pods,
}: Pick<RevisionWorld, 'workload' | 'queue' | 'revision' | 'pods'>): boolean {
  const fewest = wantedQueueReplicas(revision);
  const readyOf = (component: string): number =>
    pods.filter((pod) => pod.metadata.labels?.[LABEL.component] === component && isPodReady(pod)).length;
  return (
    isAvailable(workload, wantedReplicas(revision), readyOf(COMPONENT.agentApi)) &&
    (fewest === undefined || isAvailable(queue, fewest, readyOf(COMPONENT.agentQueue)))
  );
}

/**
 * The pods themselves say that they are ready two writes before the status of their Deployment does. They count while
 * every pod of the Deployment has its present template.
 * @param fewest pods of a Deployment that is scaled: those beyond are more than it needs to be ready
 */
function isAvailable(workload: Deployment | undefined, fewest: number, readyPods: number): boolean {
  const wanted = Math.min(fewest, workload?.spec.replicas ?? 1);
  const { observedGeneration, updatedReplicas = 0, availableReplicas = 0 } = workload?.status ?? {};
  return (
    workload !== undefined &&
    wanted > 0 &&
    observedGeneration === workload.metadata.generation &&
    updatedReplicas >= wanted &&
    (availableReplicas >= wanted || (hasPresentPods(workload) && readyPods >= wanted))
  );
}

/** True when the Deployment has pods, and all of them have its present template. */
export function hasPresentPods({ metadata, status }: Deployment): boolean {
  const { observedGeneration, replicas = 0, updatedReplicas = 0 } = status ?? {};
  return observedGeneration === metadata.generation && replicas > 0 && replicas === updatedReplicas;
}

interface Span {
  /** Starts of containers that were ready. */
  readonly starts: string;
  readonly sinceMs: number;
}

/**
 * Time for which the pods of revisions have been ready, by the monotonic clock: it neither follows a clock
 * that is set nor trusts those of the nodes. A restart of this program begins anew, so a takeover comes a
 * little later and never too early. A container that ended in between is another start, even if it was never
 * observed as not ready.
 */
export class ReadySpans {
  /**
   * Spans of each deployment, by the uid of the workload: a repeat takes the span of the pods that it takes.
   */
  readonly #spans = new Map<string, ReadonlyMap<string, Span>>();

  /** Called in every pass over a deployment. */
  look(key: ObjectKey, world: RolloutWorld, nowMs: number): RolloutWorld {
    const before = this.#spans.get(nameOf(key));
    const spans = new Map<string, Span>();
    const revisions = world.revisions.map((one): RevisionWorld => {
      const uid = one.workload?.metadata.uid;
      if (uid === undefined || !isWorkloadReady(one)) return one;
      const starts = one.pods.map(startsOf).sort().join();
      const known = before?.get(uid);
      const span = known?.starts === starts ? known : { starts, sinceMs: nowMs };
      spans.set(uid, span);
      return { ...one, readyForMs: nowMs - span.sinceMs };
    });
    this.#spans.set(nameOf(key), spans);
    return { ...world, revisions };
  }

  /** The deployment is gone. */
  forget(key: ObjectKey): void {
    this.#spans.delete(nameOf(key));
  }
}

function nameOf({ namespace = '', name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function startsOf({ metadata, status }: Pod): string {
  const counts = (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  return `${metadata.uid ?? metadata.name}:${counts.join(':')}`;
}
