import { type ControllerSpec, KubeUnreachableError } from '#lib/kube';
import { after, type Result } from '#lib/reconcile';
import { keyOf, NODES, type Pod, PODS } from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { isPodFinished, timeText } from '../workload/workload-condition.js';

export interface PodGcView {
  readonly pods: readonly Pod[];
  readonly nodeNames: ReadonlySet<string>;
  /** Finished pods that are kept, of all namespaces together. */
  readonly maxFinished: number;
}

/** Reason why a pod is removed. */
export type PodGcReason = 'finished' | 'node-gone' | 'never-scheduled';

interface PodRemoval {
  readonly pod: Pod;
  readonly reason: PodGcReason;
}

/** Finished pods over the bound, the oldest of the namespaces that have most of them; pods of nodes that are no more, and pods deleted before they had a node. */
export function decidePodGc({ pods, nodeNames, maxFinished }: PodGcView): readonly PodRemoval[] {
  const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
  const finished = pods.filter((pod) => isPodFinished(pod) && !isGoing(pod));
  const surplus = surplusOf(finished, maxFinished);
  const orphans = pods.filter(({ spec }) => spec.nodeName && !nodeNames.has(spec.nodeName));
  const unscheduled = pods.filter((pod) => isGoing(pod) && !pod.spec.nodeName);
  return [
    ...[...surplus].map((pod): PodRemoval => ({ pod, reason: 'finished' })),
    ...orphans.filter((pod) => !surplus.has(pod)).map((pod): PodRemoval => ({ pod, reason: 'node-gone' })),
    ...unscheduled.map((pod): PodRemoval => ({ pod, reason: 'never-scheduled' })),
  ];
}

/**
 * Every namespace keeps its newest, as many as any other; one with fewer loses none. So one that finishes hundreds of pods a
 * minute removes no others, nor their logs.
 */
function surplusOf(finished: readonly Pod[], maxFinished: number): ReadonlySet<Pod> {
  const ofNamespace = new Map<string, Pod[]>();
  for (const pod of finished) {
    const { namespace = '' } = pod.metadata;
    const found = ofNamespace.get(namespace);
    if (found) found.push(pod);
    else ofNamespace.set(namespace, [pod]);
  }
  // the smallest first: what they leave of their share is for the others
  const groups = [...ofNamespace.values()].sort((a, b) => a.length - b.length);
  let room = maxFinished;
  return new Set(
    groups.flatMap((pods, at) => {
      const kept = Math.min(pods.length, Math.ceil(room / (groups.length - at)));
      room -= kept;
      return pods.toSorted(byAge).slice(0, pods.length - kept);
    }),
  );
}

function byAge(a: Pod, b: Pod): number {
  return (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
}

const EVERY_MS = 20_000;
/** A node's name must have been missing for this long: it may only be registering anew. */
const QUARANTINE_MS = 40_000;

/** Deletes pods that no other controller removes. One key: the whole cluster. */
export function podGcController(context: ClusterContext, maxFinished: number): ControllerSpec {
  const sweeper = new PodSweeper(context, maxFinished);
  context.informers.of(NODES);
  return {
    name: 'pod-gc',
    concurrency: 1,
    reconcile: () => sweeper.sweep(),
    sources: [
      {
        feed: (enqueue) => {
          enqueue({ name: 'all' });
          return () => undefined;
        },
      },
    ],
  };
}

class PodSweeper {
  /** Names of nodes that are missing, since when. */
  readonly #missing = new Map<string, number>();

  constructor(
    private readonly context: ClusterContext,
    private readonly maxFinished: number,
  ) {}

  async sweep(): Promise<Result> {
    const { informers } = this.context;
    const pods = informers.of(PODS).list();
    const nodeNames = this.#presumedNodes(pods);
    for (const removal of decidePodGc({ pods, nodeNames, maxFinished: this.maxFinished }))
      await this.#remove(removal);
    return after(EVERY_MS);
  }

  /**
   * Removes a pod. A failure for one stops neither its removal nor that of others; the next sweep tries
   * again.
   */
  async #remove({ pod, reason }: PodRemoval): Promise<void> {
    const { uid } = pod.metadata;
    const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      try {
        await work();
      } catch (err) {
        if (err instanceof KubeUnreachableError) throw err;
        const { namespace, name } = keyOf(pod);
        this.context.log.warn({ err, namespace, name, reason }, `pod sweeping: ${what} failed`);
      }
    };
    if (reason === 'node-gone' && !isPodFinished(pod))
      await attempt('marking a pod as failed', () => this.#markFailed(pod));
    await attempt('deleting a pod', () =>
      this.context.client.delete(PODS, keyOf(pod), {
        gracePeriodSeconds: 0,
        ...(uid === undefined ? {} : { uid }),
      }),
    );
  }

  /** Nodes that exist, or have been missing for a short time. */
  #presumedNodes(pods: readonly Pod[]): ReadonlySet<string> {
    const { informers, clock } = this.context;
    const there = new Set(
      informers
        .of(NODES)
        .list()
        .map(({ metadata }) => metadata.name),
    );
    const nowMs = clock.monotonicMs();
    const named = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []));
    for (const name of this.#missing.keys())
      if (there.has(name) || !named.has(name)) this.#missing.delete(name);
    for (const name of named) {
      if (there.has(name)) continue;
      const sinceMs = this.#missing.get(name) ?? nowMs;
      this.#missing.set(name, sinceMs);
      if (nowMs - sinceMs < QUARANTINE_MS) there.add(name);
    }
    return there;
  }

  /** Marks the pod as failed, so that a job counts it as such. */
  async #markFailed(pod: Pod): Promise<void> {
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      lastTransitionTime: timeText(this.context.clock.now()),
    } as const;
    const others = pod.status?.conditions?.filter(({ type }) => type !== condition.type) ?? [];
    await this.context.client.mergeStatus(PODS, keyOf(pod), {
      status: { phase: 'Failed', conditions: [...others, condition] },
    });
  }
}
