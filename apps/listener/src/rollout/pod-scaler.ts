import type { RunLoad } from '#lib/lifecycle';
import {
  type PodRange,
  isAnsweringScaled,
  podsThatConnect,
  queueRange,
  wantedQueueReplicas,
  wantedReplicas,
} from '#lib/manifests';
import type { AgentRevision, Deployment } from '#lib/resources';
import type { RevisionWorld } from './world.js';

/**
 * Time for which fewer pods must have been enough before the number decreases: a pod that ends hands back its
 * unfinished runs.
 */
const CALM_MS = 60_000;

/** True when the number of pods that take runs of a revision follows its runs. */
export function isScaled({ origin, queue }: Pick<RevisionWorld, 'origin' | 'queue'>): boolean {
  const range = queueRange(origin);
  return range !== undefined && range.min < range.max && (queue?.spec.replicas ?? 0) > 0;
}

/** True when the number of pods that answer HTTP follows their load. */
export function isAnsweringFollowed({
  origin,
  workload,
}: Pick<RevisionWorld, 'origin' | 'workload'>): boolean {
  return isAnsweringScaled(origin) && (workload?.spec.replicas ?? 0) > 0;
}

/**
 * Pods that one Deployment of a revision may have beside everything else that holds connections to its database.
 * @param besides pods of the other Deployment of the revision
 * @param held pods of other revisions (`podsHeld`)
 * @param given connections that the server gave the deployment, where they are fewer than it asks for
 */
export function roomFor(revision: AgentRevision, besides: number, held: number, given?: number): number {
  return podsThatConnect(revision.spec.resourceSpec, given) - besides - held;
}

/**
 * Pods of a revision that hold connections: its fewest where it is to have any, and those that it has where they are more,
 * as while it retires after a busy time.
 */
export function podsHeld(
  { origin, workload, queue }: Pick<RevisionWorld, 'origin' | 'workload' | 'queue'>,
  isToHavePods: boolean,
): number {
  const fewest = isToHavePods
    ? { answering: wantedReplicas(origin), queue: wantedQueueReplicas(origin) ?? 0 }
    : undefined;
  return Math.max(fewest?.answering ?? 0, podsOf(workload)) + Math.max(fewest?.queue ?? 0, podsOf(queue));
}

/** Pods that a Deployment has or is about to have. */
function podsOf(workload: Deployment | undefined): number {
  return Math.max(workload?.spec.replicas ?? 0, workload?.status?.replicas ?? 0);
}

/** Input for the number of pods of a revision's Deployment. */
export interface ScaleQuestion {
  /** Pods that the Deployment has at present. */
  readonly current: number;
  readonly range: PodRange;
  /** Pods that find connections to the database; the fewest of the range run all the same. */
  readonly room: number;
  /** Undefined when no pod answered, so that nothing changes. */
  readonly load: RunLoad | undefined;
  /** Cores that a pod asks for, where the number of pods follows those that they use; they have `load.cores`. */
  readonly coresOfPod?: number | undefined;
}

interface Wanted {
  readonly atMs: number;
  readonly pods: number;
}

/**
 * Decides the number of pods of a revision's Deployment: enough for the runs at work and those that wait, at
 * once, and for the cores that its pods use; fewer only once fewer were enough for a minute. Only the
 * Deployment's own number outlasts a restart, and counts as wanted then.
 */
export class PodScaler {
  readonly #wanted = new Map<string, readonly Wanted[]>();
  #tidiedAtMs = -Infinity;

  /** @param uid uid of the Deployment, or a substitute for it */
  decide(uid: string, { current, range, room, load, coresOfPod }: ScaleQuestion, nowMs: number): number {
    const before = this.#wanted.get(uid) ?? [{ atMs: nowMs, pods: current }];
    const pods = load ? podsFor(load, current, coresOfPod) : current;
    const wanted = [...before.filter(({ atMs }) => nowMs - atMs < CALM_MS), { atMs: nowMs, pods }];
    this.#wanted.set(uid, wanted);
    this.#tidy(nowMs);
    const most = Math.max(range.min, Math.min(range.max, room));
    return Math.min(most, Math.max(range.min, ...wanted.map((one) => one.pods)));
  }

  /** Forgets Deployments that were not asked about for a minute: the end of a Deployment is not reported. */
  #tidy(nowMs: number): void {
    if (nowMs - this.#tidiedAtMs < CALM_MS) return;
    this.#tidiedAtMs = nowMs;
    for (const [uid, wanted] of this.#wanted)
      if (nowMs - (wanted.at(-1)?.atMs ?? -Infinity) >= CALM_MS) this.#wanted.delete(uid);
  }

  /** The revision does not serve, or no longer. */
  forget(uid: string): void {
    this.#wanted.delete(uid);
  }
}

/** Share of a pod's requested resources, as Kubernetes' own autoscaler has it by default. */
const FULL = 0.8;
/** Use that is as good as what is aimed at. */
const NEAR = 0.1;

function podsFor(
  { waiting, atWork, places, cores }: RunLoad,
  current: number,
  coresOfPod: number | undefined,
): number {
  const byRuns = Math.ceil((waiting + atWork) / Math.max(1, places));
  if (cores === undefined || coresOfPod === undefined) return byRuns;
  const use = cores / (coresOfPod * FULL);
  const byCores = Math.abs(use - 1) <= NEAR ? current : Math.ceil(current * use);
  return Math.max(byRuns, byCores);
}
