import { fromMapped, fromObjects, isNotFound, type ControllerSpec } from '#lib/kube';
import { after, done, type Result } from '#lib/reconcile';
import { keyOf, LEASES, type Node, NODES, type ObjectKey, type Pod, PODS } from '#lib/resources';
import type { ClusterContext } from '../context/cluster-context.js';
import { isPodFinished, podCondition } from '../workload/pod-state.js';
import { timeText } from '../workload/workload-condition.js';
import { decideNodeHealth } from './decide-node-health.js';
import { evictionTimeMs } from './eviction-time.js';
import { SignsOfLife } from './signs-of-life.js';

const LOOK_MS = 5_000;
const LEASE_NAMESPACE = { namespace: 'kube-node-lease' };
const BOUND_INDEX = 'bound-to';

/** Marks nodes that fell silent, taints them, and evicts pods that do not tolerate it. */
export function nodeLifecycleController(context: ClusterContext): ControllerSpec {
  const { informers } = context;
  const pods = informers.of(PODS);
  pods.addIndex(BOUND_INDEX, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
  const lifecycle = new NodeLifecycle(context);
  return {
    name: 'node-lifecycle',
    concurrency: 1,
    reconcile: (key) => lifecycle.reconcile(key),
    sources: [
      fromObjects(informers.of(NODES)),
      fromMapped(informers.of(LEASES, LEASE_NAMESPACE), ({ metadata }) => [{ name: metadata.name }]),
    ],
  };
}

class NodeLifecycle {
  readonly #context: ClusterContext;
  readonly #signs: SignsOfLife;

  constructor(context: ClusterContext) {
    this.#context = context;
    this.#signs = new SignsOfLife(context.clock);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const { informers, clock, client } = this.#context;
    this.#signs.look();
    const node = informers.of(NODES).find(key);
    if (!node) {
      this.#signs.forget(key.name);
      return done();
    }
    const silentMs = this.#signs.silentMs(key.name, this.#signOf(node));
    const health = decideNodeHealth({ node, silentMs, now: clock.now() });
    let current = node;
    if (health.conditions) {
      current = await client.mergeStatus(NODES, key, {
        metadata: versionOf(current),
        status: { conditions: health.conditions },
      });
      this.#context.events.record(NODES, node, {
        type: 'Normal',
        reason: 'NodeNotReady',
        message: `Node ${key.name} status is now: NodeNotReady`,
      });
    }
    if (health.taints)
      current = await client.merge(NODES, key, {
        metadata: versionOf(current),
        spec: { taints: health.taints },
      });
    await this.#tendPods(current, health.isReady);
    return after(LOOK_MS);
  }

  #signOf(node: Node): string {
    const lease = this.#context.informers
      .of(LEASES, LEASE_NAMESPACE)
      .find({ ...LEASE_NAMESPACE, name: node.metadata.name });
    const heartbeat = node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
    return `${node.metadata.uid} ${lease?.spec?.renewTime ?? ''} ${heartbeat ?? ''}`;
  }

  async #tendPods(node: Node, isReady: boolean): Promise<void> {
    const { informers, clock, client, events } = this.#context;
    for (const pod of informers.of(PODS).byIndex(BOUND_INDEX, node.metadata.name)) {
      if (pod.metadata.deletionTimestamp !== undefined || isPodFinished(pod)) continue;
      const atMs = evictionTimeMs(pod, node);
      if (atMs !== undefined && atMs <= clock.now().getTime() && !this.#signs.hasJustWoken) {
        const { uid } = pod.metadata;
        events.record(PODS, pod, {
          type: 'Normal',
          reason: 'TaintManagerEviction',
          message: `Marking for deletion Pod ${pod.metadata.namespace}/${pod.metadata.name}`,
        });
        await client.delete(PODS, keyOf(pod), uid === undefined ? {} : { uid });
      } else if (!isReady) {
        await this.#markNotReady(pod);
      }
    }
  }

  /** The state of a silent node's pods is unknown, so they get no requests. */
  async #markNotReady(pod: Pod): Promise<void> {
    if (podCondition(pod, 'Ready')?.status !== 'True') return;
    const { clock, client } = this.#context;
    const conditions = pod.status?.conditions?.map((condition) =>
      condition.type === 'Ready'
        ? { ...condition, status: 'False' as const, lastTransitionTime: timeText(clock.now()) }
        : condition,
    );
    try {
      await client.mergeStatus(PODS, keyOf(pod), {
        metadata: versionOf(pod),
        status: { conditions: conditions ?? [] },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function versionOf({ metadata }: Node | Pod): { readonly resourceVersion?: string } {
  return metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion };
}
