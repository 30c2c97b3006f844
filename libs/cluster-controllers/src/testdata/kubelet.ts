import { isConflict, isNotFound, microTime, type Informers, type KubeClient } from '#lib/kube';
import { Controller, done, type Log } from '#lib/reconcile';
import { systemClock } from '#lib/time';
import { keyOf, LEASES, NODES, type Pod, PODS } from '#lib/resources';

/** Pods with this annotation end at once with the exit code that it names. */
export const EXIT_ANNOTATION = 'test/exit-code';

const RENEW_MS = 10_000;

/** A node whose pods do nothing: they become ready at once, or end, and go when they are deleted. */
export class Kubelet {
  readonly #client: KubeClient;
  readonly #informers: Informers;
  readonly #controller: Controller;
  readonly nodeName: string;
  #off: () => void = () => undefined;
  #cancelRenewal: () => void = () => undefined;

  constructor(client: KubeClient, informers: Informers, nodeName: string, log: Log) {
    this.#client = client;
    this.#informers = informers;
    this.nodeName = nodeName;
    this.#controller = new Controller({
      name: 'kubelet',
      clock: systemClock,
      log,
      concurrency: 1,
      backoff: { firstMs: 20, longestMs: 500 },
      reconcile: async (key) => {
        const pod = this.#informers.of(PODS).find(key);
        if (pod?.spec.nodeName === this.nodeName) await this.#tend(pod);
        return done();
      },
    });
  }

  async start(
    allocatable: Readonly<Record<string, string>> = { cpu: '2', memory: '4Gi', pods: '20' },
  ): Promise<void> {
    await this.#client.create(NODES, {
      metadata: { name: this.nodeName, labels: { 'kubernetes.io/hostname': this.nodeName } },
    });
    await this.report('True', allocatable);
    await this.renew();
    this.#renewLater();
    this.#off = this.#informers.of(PODS).on(({ object }) => this.#controller.enqueue(keyOf(object)));
    this.#controller.start();
  }

  async report(
    ready: 'True' | 'False',
    allocatable: Readonly<Record<string, string>> = { cpu: '2', memory: '4Gi', pods: '20' },
  ): Promise<void> {
    const at = new Date().toISOString();
    await this.#client.mergeStatus(
      NODES,
      { name: this.nodeName },
      {
        status: {
          capacity: allocatable,
          allocatable,
          conditions: [
            {
              type: 'Ready',
              status: ready,
              reason: 'KubeletReady',
              message: 'test',
              lastHeartbeatTime: at,
              lastTransitionTime: at,
            },
          ],
        },
      },
    );
  }

  async renew(): Promise<void> {
    const now = microTime(new Date());
    await this.#client.apply(LEASES, {
      metadata: { namespace: 'kube-node-lease', name: this.nodeName },
      spec: { holderIdentity: this.nodeName, leaseDurationSeconds: 40, renewTime: now },
    });
  }

  /** A node without a renewal for 40 s is not ready any more; a busy machine takes longer than that for a file. */
  #renewLater(): void {
    this.#cancelRenewal = systemClock.after(RENEW_MS, () => {
      this.#renewLater();
      this.renew().catch(() => undefined); // the API server may be down
    });
  }

  async stop(): Promise<void> {
    this.#cancelRenewal();
    this.#off();
    await this.#controller.stop();
  }

  async #tend(pod: Pod): Promise<void> {
    try {
      if (pod.metadata.deletionTimestamp !== undefined) {
        if (pod.metadata.deletionGracePeriodSeconds !== 0 || (pod.metadata.finalizers ?? []).length === 0)
          await this.#client.delete(PODS, keyOf(pod), {
            gracePeriodSeconds: 0,
            ...(pod.metadata.uid === undefined ? {} : { uid: pod.metadata.uid }),
          });
        return;
      }
      if (
        pod.status?.phase === 'Running' ||
        pod.status?.phase === 'Succeeded' ||
        pod.status?.phase === 'Failed'
      )
        return;
      await this.#client.mergeStatus(PODS, keyOf(pod), { status: statusOf(pod) });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}

function statusOf(pod: Pod): NonNullable<Pod['status']> {
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const exitCode = pod.metadata.annotations?.[EXIT_ANNOTATION];
  const hasEnded = exitCode !== undefined;
  const flag = hasEnded ? 'False' : 'True';
  return {
    phase: hasEnded ? (exitCode === '0' ? 'Succeeded' : 'Failed') : 'Running',
    startTime: at,
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: type.endsWith('Ready') ? flag : 'True',
      lastTransitionTime: at,
    })),
    containerStatuses: pod.spec.containers.map(({ name, image = '' }) => ({
      name,
      image,
      imageID: image,
      ready: !hasEnded,
      restartCount: 0,
      state: hasEnded
        ? {
            terminated: {
              exitCode: Number(exitCode),
              finishedAt: at,
              startedAt: at,
              reason: exitCode === '0' ? 'Completed' : 'Error',
            },
          }
        : { running: { startedAt: at } },
    })),
  };
}
