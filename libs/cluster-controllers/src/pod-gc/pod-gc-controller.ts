import { type ControllerSpec, KubeUnreachableError } from '#lib/kube';
import { after, type Result } from '#lib/reconcile';
import { keyOf, NODES, type Pod, PODS } from '#lib/resources';
import type { ClusterContext } from '../context/cluster-context.js';
import { isPodFinished } from '../workload/pod-state.js';
import { timeText } from '../workload/workload-condition.js';
import { decidePodGc, type PodRemoval } from './decide-pod-gc.js';

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
  readonly #context: ClusterContext;
  readonly #maxFinished: number;
  /** Names of nodes that are missing, since when. */
  readonly #missing = new Map<string, number>();

  constructor(context: ClusterContext, maxFinished: number) {
    this.#context = context;
    this.#maxFinished = maxFinished;
  }

  async sweep(): Promise<Result> {
    const { informers } = this.#context;
    const pods = informers.of(PODS).list();
    const nodeNames = this.#presumedNodes(pods);
    for (const removal of decidePodGc({ pods, nodeNames, maxFinished: this.#maxFinished }))
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
        this.#context.log.warn({ err, namespace, name, reason }, `pod sweeping: ${what} failed`);
      }
    };
    if (reason === 'node-gone' && !isPodFinished(pod))
      await attempt('marking a pod as failed', () => this.#markFailed(pod));
    await attempt('deleting a pod', () =>
      this.#context.client.delete(PODS, keyOf(pod), {
        gracePeriodSeconds: 0,
        ...(uid === undefined ? {} : { uid }),
      }),
    );
  }

  /** Nodes that exist, or have been missing for a short time. */
  #presumedNodes(pods: readonly Pod[]): ReadonlySet<string> {
    const { informers, clock } = this.#context;
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
      lastTransitionTime: timeText(this.#context.clock.now()),
    } as const;
    const others = pod.status?.conditions?.filter(({ type }) => type !== condition.type) ?? [];
    await this.#context.client.mergeStatus(PODS, keyOf(pod), {
      status: { phase: 'Failed', conditions: [...others, condition] },
    });
  }
}
