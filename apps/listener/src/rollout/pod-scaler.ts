import type { RunLoad } from '#lib/lifecycle';
import {
  type PodRange,
  isAnsweringScaled,
  podsThatConnect,
  queueRange,
  wantedQueueReplicas,
  wantedReplicas,
} from '#lib/manifests';
import type { AgentRevision } from '#lib/resources';
import type { RevisionWorld } from './world.js';

/** As few pods as were enough for so long: a pod that ends hands back what it has not finished. */
const CALM_MS = 60_000;

/** Whether the number of pods that take runs of a revision follows its runs. */
export function isScaled({ origin, queue }: Pick<RevisionWorld, 'origin' | 'queue'>): boolean {
  const range = queueRange(origin);
  return range !== undefined && range.min < range.max && (queue?.spec.replicas ?? 0) > 0;
}

/** Whether the number of pods that answer HTTP follows what they have to do. */
export function isAnsweringFollowed({
  origin,
  workload,
}: Pick<RevisionWorld, 'origin' | 'workload'>): boolean {
  return isAnsweringScaled(origin) && (workload?.spec.replicas ?? 0) > 0;
}

/**
 * Pods that one Deployment of a revision may have beside everything else that holds connections to its database.
 * @param besides pods of the other Deployment of the revision
 * @param others revisions that have pods too
 * @param given connections that the server gave the deployment, where they are fewer than it asks for
 */
export function roomFor(
  revision: AgentRevision,
  besides: number,
  others: readonly AgentRevision[],
  given?: number,
): number {
  const held = others.reduce((sum, one) => sum + wantedReplicas(one) + (wantedQueueReplicas(one) ?? 0), 0);
  return podsThatConnect(revision.spec.resourceSpec, given) - besides - held;
}

/** What decides how many pods a Deployment of a revision has. */
export interface ScaleQuestion {
  /** Pods that the Deployment has at present. */
  readonly current: number;
  readonly range: PodRange;
  /** Pods that find connections to the database; the fewest of the range run all the same. */
  readonly room: number;
  /** Undefined: nobody answered, so nothing changes. */
  readonly load: RunLoad | undefined;
  /** Cores that a pod asks for, where the number of pods follows those that they use; they have `load.cores`. */
  readonly coresOfPod?: number | undefined;
}

interface Wanted {
  readonly atMs: number;
  readonly pods: number;
}

/**
 * How many pods a Deployment of a revision has: enough for the runs at work and those that wait, at once, and for the cores
 * that its pods use; fewer only once fewer were enough for a minute. What the Deployment has is all that outlasts a restart,
 * and counts as wanted then.
 */
export class PodScaler {
  readonly #wanted = new Map<string, readonly Wanted[]>();

  /** @param uid of the Deployment, or what stands for it */
  decide(uid: string, { current, range, room, load, coresOfPod }: ScaleQuestion, nowMs: number): number {
    const before = this.#wanted.get(uid) ?? [{ atMs: nowMs, pods: current }];
    const pods = load ? podsFor(load, current, coresOfPod) : current;
    const wanted = [...before.filter(({ atMs }) => nowMs - atMs < CALM_MS), { atMs: nowMs, pods }];
    this.#wanted.set(uid, wanted);
    const most = Math.max(range.min, Math.min(range.max, room));
    return Math.min(most, Math.max(range.min, ...wanted.map((one) => one.pods)));
  }

  /** The revision does not serve, or no longer. */
  forget(uid: string): void {
    this.#wanted.delete(uid);
  }
}

/** Of what a pod asks for, as Kubernetes' own autoscaler has it by default. */
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
