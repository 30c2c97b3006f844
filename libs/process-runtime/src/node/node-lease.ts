import { type KubeClient, microTime } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type Lease, LEASES } from '#lib/resources';

export interface NodeLeaseOptions {
  /** Client with connections of its own, so that a renewal never waits behind other requests. */
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly holder: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const NAMESPACE = 'kube-node-lease';
const DURATION_SECONDS = 40;
const RENEW_MS = 10_000;
const RETRY_MS = 1_000;

/** Says every ten seconds that the node is alive. */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
  }

  /** @param nodeUid the Node that the Lease goes with */
  async start(nodeUid: string): Promise<void> {
    await this.#ensure(nodeUid);
    this.#after(RENEW_MS);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Renews at once; after a sleep, before anything else is judged. */
  async renew(): Promise<void> {
    const { client, nodeName: name, holder, clock } = this.#options;
    const spec = {
      holderIdentity: holder,
      renewTime: microTime(clock.now()),
      leaseDurationSeconds: DURATION_SECONDS,
    };
    await client.merge(LEASES, { namespace: NAMESPACE, name }, { spec });
  }

  async #ensure(nodeUid: string): Promise<void> {
    const { client, nodeName: name, holder, clock } = this.#options;
    const known = await client.find(LEASES, { namespace: NAMESPACE, name });
    if (known) return this.renew();
    const now = microTime(clock.now());
    const lease: Pick<Lease, 'spec'> = {
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: DURATION_SECONDS,
        acquireTime: now,
        renewTime: now,
      },
    };
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: nodeUid };
    await client.create(LEASES, {
      metadata: { namespace: NAMESPACE, name, ownerReferences: [owner] },
      ...lease,
    });
  }

  #after(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.renew()
        .then(() => this.#after(RENEW_MS))
        .catch((error: unknown) => {
          this.#options.log.warn({ problem: errorText(error) }, 'renewing the node lease failed, retrying');
          this.#after(RETRY_MS);
        });
    });
  }
}
