import { isAlreadyExists, type KubeClient } from '#lib/kube';
import { buildListenerLease, buildRevisionOutput } from '#lib/manifests';
import { controllerReference, isOwnedBy } from '#lib/reconcile';
import {
  type AgentRevision,
  CONFIG_MAPS,
  isDeleting,
  keyOf,
  type KubeObject,
  LEASES,
  type Listener,
  type ResourceRef,
  RESOURCES,
  revisionOutputName,
} from '#lib/resources';
import type { Clock } from '#lib/time';

/** Neither kind is watched, and a Listener is reconciled at each heartbeat: one that was deleted is missed this late. */
const LOOK_MS = 60_000;

interface Known {
  leaseLookAtMs: number;
  /** By the uid of the revision: whether the ConfigMap of its output is its own, and when to look at one that is not. */
  readonly outputs: Map<string, { readonly isOwn: boolean; readonly lookAtMs: number }>;
}

/**
 * What a remote listener writes in the hub, made for it: its Lease, and for each of its revisions the ConfigMap of the last
 * output, empty. Kubernetes cannot limit the names of what is created, so that its account may write these by name and
 * create nothing.
 */
export class HubObjects {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Makes what is missing. A ConfigMap that was deleted later is not made again.
   * @returns names of the ConfigMaps that belong to these revisions; one of another owner is none of the listener's
   */
  async ensure(listener: Listener, revisions: readonly AgentRevision[]): Promise<readonly string[]> {
    const { uid = '' } = listener.metadata;
    const known = this.#known.get(uid) ?? { leaseLookAtMs: 0, outputs: new Map() };
    this.#known.set(uid, known);
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= known.leaseLookAtMs) {
      await this.#make(LEASES, buildListenerLease(listener), RESOURCES.Listener, listener);
      known.leaseLookAtMs = nowMs + LOOK_MS;
    }
    for (const revision of revisions) {
      const { uid: ofRevision = '' } = revision.metadata;
      const seen = known.outputs.get(ofRevision);
      if (seen && (seen.isOwn || nowMs < seen.lookAtMs)) continue;
      if (isDeleting(revision)) continue;
      const output = buildRevisionOutput(revision, []);
      const found = await this.#make(CONFIG_MAPS, output, RESOURCES.AgentRevision, revision);
      known.outputs.set(ofRevision, { isOwn: isOwnedBy(found, revision), lookAtMs: nowMs + LOOK_MS });
    }
    const uids = new Set(revisions.map(({ metadata }) => metadata.uid));
    for (const one of known.outputs.keys()) if (!uids.has(one)) known.outputs.delete(one);
    return revisions
      .filter(({ metadata: { uid: one = '' } }) => known.outputs.get(one)?.isOwn)
      .map(({ metadata }) => revisionOutputName(metadata.name));
  }

  /** @param uids of the Listeners that exist */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }

  /** Never writes one that exists: the listener has filled it. */
  async #make<T extends KubeObject>(
    ref: ResourceRef<T>,
    desired: T,
    ownerRef: ResourceRef,
    owner: KubeObject,
  ): Promise<T> {
    const found = await this.#client.find(ref, keyOf(desired));
    if (found) return found;
    const metadata = { ...desired.metadata, ownerReferences: [controllerReference(ownerRef, owner)] };
    try {
      return await this.#client.create(ref, { ...desired, metadata });
    } catch (error) {
      if (isAlreadyExists(error)) return await this.#client.get(ref, keyOf(desired));
      throw error;
    }
  }
}
