import { errorText } from '#lib/errors';
import { type EventRecorder, isAlreadyExists, KubeApiError, type KubeClient } from '#lib/kube';
import { buildListenerLease, buildRevisionOutput } from '#lib/manifests';
import { controllerReference, isOwnedBy } from '#lib/reconcile';
import {
  type AgentRevision,
  CONFIG_MAPS,
  EVENT,
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
  /**
   * Output ConfigMaps by the uid of the revision: true when it is the revision's own, and when to check one
   * that is not.
   */
  readonly outputs: Map<string, { readonly isOwn: boolean; readonly lookAtMs: number }>;
}

/**
 * Objects of the hub that a remote listener writes, made for it: its Lease, and for each of its revisions the
 * ConfigMap of the last output, empty. Kubernetes cannot limit the names of created objects, so its account
 * may write these by name and create nothing.
 */
export class HubObjects {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly client: KubeClient,
    private readonly clock: Clock,
    private readonly events: Pick<EventRecorder, 'record'>,
  ) {}

  async ensureLease(listener: Listener): Promise<void> {
    const known = this.#knownOf(listener);
    const nowMs = this.clock.monotonicMs();
    if (nowMs < known.leaseLookAtMs) return;
    await this.#make(LEASES, buildListenerLease(listener), RESOURCES.Listener, listener);
    known.leaseLookAtMs = nowMs + LOOK_MS;
  }

  /**
   * Makes those that are missing. A ConfigMap that was deleted later is not made again; one that the API
   * server refuses is reported, and tried again later.
   * @returns names of the ConfigMaps that belong to these revisions; one of another owner is not included
   */
  async ensureOutputs(listener: Listener, revisions: readonly AgentRevision[]): Promise<readonly string[]> {
    const known = this.#knownOf(listener);
    const nowMs = this.clock.monotonicMs();
    for (const revision of revisions) {
      const { uid: ofRevision = '' } = revision.metadata;
      const seen = known.outputs.get(ofRevision);
      if (seen && (seen.isOwn || nowMs < seen.lookAtMs)) continue;
      if (isDeleting(revision)) continue;
      const isOwn = await this.#ensureOutput(revision);
      known.outputs.set(ofRevision, { isOwn, lookAtMs: nowMs + LOOK_MS });
    }
    const uids = new Set(revisions.map(({ metadata }) => metadata.uid));
    for (const one of known.outputs.keys()) if (!uids.has(one)) known.outputs.delete(one);
    return revisions
      .filter(({ metadata: { uid: one = '' } }) => known.outputs.get(one)?.isOwn)
      .map(({ metadata }) => revisionOutputName(metadata.name));
  }

  /** @param uids uids of the Listeners that exist */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }

  #knownOf({ metadata: { uid = '' } }: Listener): Known {
    const known = this.#known.get(uid) ?? { leaseLookAtMs: 0, outputs: new Map() };
    this.#known.set(uid, known);
    return known;
  }

  /**
   * True when the revision has a ConfigMap of its own. A quota or a policy that refuses one must not keep the
   * other revisions of the listener from running.
   */
  async #ensureOutput(revision: AgentRevision): Promise<boolean> {
    const output = buildRevisionOutput(revision, []);
    try {
      return isOwnedBy(await this.#make(CONFIG_MAPS, output, RESOURCES.AgentRevision, revision), revision);
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      this.events.record(RESOURCES.AgentRevision, revision, {
        type: 'Warning',
        reason: EVENT.outputNotKept,
        message: `creating ConfigMap ${output.metadata.name} for the last output failed, retrying every minute: ${errorText(error)}`,
      });
      return false;
    }
  }

  /** Never writes one that exists: the listener has filled it. */
  async #make<T extends KubeObject>(
    ref: ResourceRef<T>,
    desired: T,
    ownerRef: ResourceRef,
    owner: KubeObject,
  ): Promise<T> {
    const found = await this.client.find(ref, keyOf(desired));
    if (found) return found;
    const metadata = { ...desired.metadata, ownerReferences: [controllerReference(ownerRef, owner)] };
    try {
      return await this.client.create(ref, { ...desired, metadata });
    } catch (error) {
      if (isAlreadyExists(error)) return await this.client.get(ref, keyOf(desired));
      throw error;
    }
  }
}
