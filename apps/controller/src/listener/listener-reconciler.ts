import { applyManaged, type KubeClient, type ManagingOwner, StatusWriter } from '#lib/kube';
import { TerminalError } from '#lib/errors';
import { buildListenerObjects, type PlatformSettings } from '#lib/manifests';
import { after, done, type Result } from '#lib/reconcile';
import {
  CONDITION,
  DEPLOYMENTS,
  isDeleting,
  keyOf,
  type Listener,
  type ListenerStatus,
  type ObjectKey,
  REASON,
  RESOURCES,
  ROLE_BINDINGS,
  ROLES,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import { ensureId } from '../identity/ensure-id.js';
import { conditionsOf } from '../status-conditions.js';
import { Heartbeats } from './heartbeats.js';
import { ListenerKeys } from './listener-keys.js';
import { listenerConditions, type ListenerRefusal, refuseListener } from './decide-listener.js';

export type ListenerCaches = Pick<
  Caches,
  'listeners' | 'listenerWorkloads' | 'listenerAccounts' | 'listenerRoles' | 'listenerBindings' | 'namespaces'
>;

/** A missing heartbeat wakes nothing, so it is looked for. */
const LOOK_AGAIN_MS = 15_000;

/** Gives each Listener its program, and reports whether that runs. The listener itself writes its heartbeat only. */
export class ListenerReconciler {
  readonly #caches: ListenerCaches;
  readonly #client: KubeClient;
  readonly #settings: PlatformSettings;
  readonly #clock: Clock;
  readonly #heartbeats: Heartbeats;
  readonly #keys: ListenerKeys;
  readonly #status: StatusWriter;

  constructor(caches: ListenerCaches, client: KubeClient, settings: PlatformSettings, clock: Clock) {
    this.#caches = caches;
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
    this.#heartbeats = new Heartbeats(clock);
    this.#keys = new ListenerKeys(client, clock);
    this.#status = new StatusWriter(client);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#caches.listeners.find(key);
    if (!found) this.#forgetOthers();
    if (!found || isDeleting(found)) return done();
    // a namespace that is being deleted takes no new objects, and the listener is deleted with it
    const namespace = this.#caches.namespaces.find({ name: found.metadata.namespace ?? '' });
    if (!namespace || isDeleting(namespace)) return after(LOOK_AGAIN_MS);
    const listener = await ensureId(this.#client, RESOURCES.Listener, found, this.#caches.listeners);
    const refusal = refuseListener(listener, this.#caches.listeners.list(listener.metadata.namespace));
    try {
      if (!refusal) await this.#applyObjects(listener);
    } catch (error) {
      if (error instanceof TerminalError && error.reason === REASON.notOurs)
        await this.#report(listener, { reason: REASON.notOurs, message: error.message });
      throw error;
    }
    await this.#report(listener, refusal);
    return after(LOOK_AGAIN_MS);
  }

  #forgetOthers(): void {
    const uids = new Set(this.#caches.listeners.list().map(({ metadata: { uid = '' } }) => uid));
    this.#heartbeats.keep(uids);
    this.#keys.keep(uids);
  }

  /** Rights and key come before the pod that needs them. */
  async #applyObjects(listener: Listener): Promise<void> {
    const owner: ManagingOwner = { kind: 'reference', ref: RESOURCES.Listener, object: listener };
    const keyMark = await this.#keys.ensure(listener);
    const objects = buildListenerObjects(listener, this.#settings, keyMark);
    const { serviceAccount, role, roleBinding, deployment } = objects;
    const client = this.#client;
    const key = keyOf(deployment);
    const { listenerAccounts, listenerRoles, listenerBindings, listenerWorkloads } = this.#caches;
    await applyManaged(client, owner, {
      ref: SERVICE_ACCOUNTS,
      desired: serviceAccount,
      existing: listenerAccounts.find(key),
    });
    await applyManaged(client, owner, { ref: ROLES, desired: role, existing: listenerRoles.find(key) });
    await applyManaged(client, owner, {
      ref: ROLE_BINDINGS,
      desired: roleBinding,
      existing: listenerBindings.find(key),
    });
    await applyManaged(client, owner, {
      ref: DEPLOYMENTS,
      desired: deployment,
      existing: listenerWorkloads.find(key),
    });
  }

  async #report(listener: Listener, refusal: ListenerRefusal | undefined): Promise<void> {
    const workload = this.#caches.listenerWorkloads.find(
      keyOf(buildListenerObjects(listener, this.#settings).deployment),
    );
    const now = this.#clock.now();
    const { generation } = listener.metadata;
    const status: ListenerStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      conditions: conditionsOf(
        listener.status?.conditions,
        listenerConditions(listener, workload, this.#heartbeats.isFresh(listener), refusal),
        { needs: [CONDITION.workloadReady, CONDITION.heartbeatFresh], message: 'listener ready' },
        generation,
        now,
      ),
    };
    await this.#caches.listeners.seen(await this.#status.apply(RESOURCES.Listener, listener, status));
  }
}
