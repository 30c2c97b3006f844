import type { RunLoad } from '#lib/lifecycle';
import {
  type PodRange,
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

/**
 * Pods that may take runs of one revision beside everything else that holds connections to its database.
 * @param others revisions that have pods too
 * @param given connections that the server gave the deployment, where they are fewer than it asks for
 */
export function roomFor(revision: AgentRevision, others: readonly AgentRevision[], given?: number): number {
  const held = others.reduce((sum, one) => sum + wantedReplicas(one) + (wantedQueueReplicas(one) ?? 0), 0);
  return podsThatConnect(revision.spec.resourceSpec, given) - wantedReplicas(revision) - held;
}

export interface ScaleQuestion {
  /** Pods that the Deployment has at present. */
  readonly current: number;
  readonly range: PodRange;
  /** Pods that find connections to the database; the fewest of the range run all the same. */
  readonly room: number;
  /** Undefined: nobody answered, so nothing changes. */
  readonly load: RunLoad | undefined;
}

interface Wanted {
  readonly atMs: number;
  readonly pods: number;
}

/**
 * How many pods take the runs of a revision: enough for those at work and those that wait, at once; fewer only once fewer
 * were enough for a minute. What the Deployment has is all that outlasts a restart, and counts as wanted then.
 */
export class QueueScaler {
  readonly #wanted = new Map<string, readonly Wanted[]>();

  /** @param uid of the revision whose Deployment it is */
  decide(uid: string, { current, range, room, load }: ScaleQuestion, nowMs: number): number {
    const before = this.#wanted.get(uid) ?? [{ atMs: nowMs, pods: current }];
    const pods = load ? Math.ceil((load.waiting + load.atWork) / Math.max(1, load.places)) : current;
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
