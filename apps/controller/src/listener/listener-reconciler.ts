import { createHash, randomBytes } from 'node:crypto';
import { TerminalError } from '#lib/errors';
import {
  applyManaged,
  type EventRecorder,
  type KubeClient,
  type ManagingOwner,
  removeFinalizer,
  StatusWriter,
} from '#lib/kube';
import {
  buildListenerKey,
  buildListenerObjects,
  buildListenerRights,
  LISTENER_KEY,
  type ListenerRights,
  type PlatformSettings,
} from '#lib/manifests';
import { after, done, hasFinalizer, type Result } from '#lib/reconcile';
import {
  type AgentRevision,
  CONDITION,
  type Deployment,
  DEPLOYMENTS,
  EVENT,
  FINALIZER,
  isConditionTrue,
  isDeleting,
  keyOf,
  type Listener,
  listenerKeyName,
  listenerObjectName,
  type ListenerStatus,
  type ObjectKey,
  REASON,
  RESOURCES,
  ROLE_BINDINGS,
  ROLES,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { requireOwned, secretValue } from '../agent-deployment/require-owned.js';
import type { Caches } from '../caches.js';
import { ensureId } from '../identity/decide-id.js';
import { conditionsOf } from '../status-conditions.js';
import {
  listenerConditions,
  type ListenerRefusal,
  neededConditions,
  refuseListener,
} from './decide-listener.js';
import { HubObjects } from './hub-objects.js';
import { ListenerReports } from './listener-reports.js';

/**
 * A controller that starts has not seen which heartbeats arrived while it was stopped. A listener that was alive then, as one
 * that starts with it on the same machine, gets this time for another.
 */
const FIRST_LOOK_MS = 20_000;

interface Seen {
  readonly beat: string;
  readonly atMs: number;
}

/**
 * Decides if listeners are alive, by the arrival of their heartbeats on this program's monotonic clock. The
 * time that a listener writes is of its own clock, which may be wrong; it counts only once, for a heartbeat
 * that this program has not seen arrive.
 */
export class Heartbeats {
  /** Heartbeats by the listener's uid. */
  readonly #seen = new Map<string, Seen>();

  /** @param staleMs age at which a heartbeat is stale */
  constructor(
    private readonly clock: Clock,
    private readonly staleMs: number,
  ) {}

  /** Forgets listeners that do not exist any more. @param uids uids of those that do */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
  }

  /** Number of listeners seen. */
  get size(): number {
    return this.#seen.size;
  }

  isFresh(listener: Listener): boolean {
    const left = this.staleInMs(listener);
    return left !== undefined && left > 0;
  }

  /**
   * Milliseconds from now until the last heartbeat is stale, negative once it is; undefined before the first
   * one.
   */
  staleInMs(listener: Listener): number | undefined {
    const { uid = '' } = listener.metadata;
    const beat = listener.status?.lastHeartbeatTime;
    if (beat === undefined) return undefined;
    const nowMs = this.clock.monotonicMs();
    let seen = this.#seen.get(uid);
    if (seen?.beat !== beat) {
      seen = { beat, atMs: nowMs - (seen ? 0 : this.#ageAtFirstLook(listener, beat)) };
      this.#seen.set(uid, seen);
    }
    return seen.atMs + this.staleMs - nowMs;
  }

  #ageAtFirstLook({ status }: Listener, beat: string): number {
    const ageMs = Math.max(0, this.clock.now().getTime() - Date.parse(beat));
    const wasFresh = isConditionTrue(status?.conditions, CONDITION.heartbeatFresh);
    return wasFresh ? Math.min(ageMs, Math.max(0, this.staleMs - FIRST_LOOK_MS)) : ageMs;
  }
}

/** Secrets cannot be watched, and a Listener is reconciled at each heartbeat: one that was deleted is missed this late. */
const LOOK_MS = 60_000;

interface Known {
  readonly mark: string;
  readonly lookAtMs: number;
}

/**
 * The keys of Listeners, each in a Secret: made once, and again where it was deleted, which is how an operator replaces a
 * key. The pods of the listener, and those of deployments with a `minScale` of 0 that run, are replaced then.
 */
export class ListenerKeys {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly client: KubeClient,
    private readonly clock: Clock,
  ) {}

  /**
   * Makes the key of a Listener unless it exists.
   * @returns a text that distinguishes it from another key, and reveals nothing of it
   * @throws WaitingError while the Secret of a former Listener is deleted, TerminalError `NotOurs` for one of another owner
   */
  async ensure(listener: Listener): Promise<string> {
    const { uid = '' } = listener.metadata;
    const nowMs = this.clock.monotonicMs();
    const known = this.#known.get(uid);
    if (known && nowMs < known.lookAtMs) return known.mark;
    const { name, namespace = '' } = listener.metadata;
    const found = await this.client.find(SECRETS, { namespace, name: listenerKeyName(name) });
    const existing = found && requireOwned(found, listener);
    const key = secretValue(existing, LISTENER_KEY) ?? (await this.#make(listener, existing));
    const mark = createHash('sha256').update(`mark of ${key}`).digest('hex').slice(0, 16);
    this.#known.set(uid, { mark, lookAtMs: nowMs + LOOK_MS });
    return mark;
  }

  /** @param uids uids of the Listeners that exist */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#known.keys()) if (!uids.has(uid)) this.#known.delete(uid);
  }

  async #make(listener: Listener, existing: Secret | undefined): Promise<string> {
    const key = randomBytes(32).toString('hex');
    await applyManaged(
      this.client,
      { kind: 'reference', ref: RESOURCES.Listener, object: listener },
      { ref: SECRETS, desired: buildListenerKey(listener, key), existing },
    );
    return key;
  }
}

export type ListenerCaches = Pick<
  Caches,
  | 'listeners'
  | 'revisions'
  | 'deployments'
  | 'listenerWorkloads'
  | 'listenerAccounts'
  | 'listenerRoles'
  | 'listenerBindings'
  | 'namespaces'
>;

/** Dependencies of the reconciler. */
export interface ListenerTools {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Age at which a heartbeat is stale. */
  readonly staleMs: number;
}

/** A Secret that was deleted wakes nothing. */
const LOOK_AGAIN_MS = 15_000;

/**
 * Gives each Listener its program, and reports whether that runs. The listener itself writes its heartbeat only. A remote
 * one gets an account alone, whose rights follow the revisions that it carries out.
 */
export class ListenerReconciler {
  readonly #caches: ListenerCaches;
  readonly #client: KubeClient;
  readonly #settings: PlatformSettings;
  readonly #events: Pick<EventRecorder, 'record'>;
  readonly #clock: Clock;
  readonly #heartbeats: Heartbeats;
  readonly #keys: ListenerKeys;
  readonly #hubObjects: HubObjects;
  readonly #reports: ListenerReports;
  readonly #status: StatusWriter;

  constructor(caches: ListenerCaches, settings: PlatformSettings, tools: ListenerTools) {
    const { client, clock, events } = tools;
    this.#caches = caches;
    this.#client = client;
    this.#settings = settings;
    this.#events = events;
    this.#clock = clock;
    this.#heartbeats = new Heartbeats(clock, tools.staleMs);
    this.#keys = new ListenerKeys(client, clock);
    this.#hubObjects = new HubObjects(client, clock, events);
    this.#reports = new ListenerReports({ deployments: caches.deployments, events });
    this.#status = new StatusWriter(client);
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    const found = this.#caches.listeners.find(key);
    if (!found) {
      this.#forgetOthers();
      await this.#releaseRevisions(key);
    }
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
    const staleInMs = this.#heartbeats.staleInMs(listener) ?? 0;
    // a missing heartbeat wakes nothing
    return after(staleInMs > 0 ? Math.min(LOOK_AGAIN_MS, staleInMs + 1) : LOOK_AGAIN_MS);
  }

  #revisionsOf({ namespace = '', name }: ObjectKey): readonly AgentRevision[] {
    return this.#caches.revisions.list(namespace).filter(({ spec }) => spec.listenerName === name);
  }

  /**
   * Releases the deleted revisions of a Listener that is gone: no program is left that could remove their
   * objects in its cluster.
   */
  async #releaseRevisions(key: ObjectKey): Promise<void> {
    for (const revision of this.#revisionsOf(key)) {
      if (!isDeleting(revision) || !hasFinalizer(revision, FINALIZER.place)) continue;
      const { name } = revision.metadata;
      this.#events.record(RESOURCES.AgentRevision, revision, {
        type: 'Warning',
        reason: EVENT.placeAbandoned,
        message: `what runs of ${name} in the cluster of Listener ${key.name} stays there: the Listener does not exist any more; delete its objects there`,
      });
      await removeFinalizer(this.#client, RESOURCES.AgentRevision, revision, FINALIZER.place);
    }
  }

  #forgetOthers(): void {
    const uids = new Set(this.#caches.listeners.list().map(({ metadata: { uid = '' } }) => uid));
    this.#heartbeats.keep(uids);
    this.#keys.keep(uids);
    this.#hubObjects.keep(uids);
    this.#reports.keep(uids);
  }

  /** Rights and key come before the pod that needs them. */
  async #applyObjects(listener: Listener): Promise<void> {
    const keyMark = await this.#keys.ensure(listener);
    if (listener.spec.remote !== undefined) {
      const revisions = this.#revisionsOf(keyOf(listener));
      this.#reports.record(listener, revisions);
      const outputs = await this.#hubObjects.ensureOutputs(listener, revisions);
      await this.#applyRights(listener, buildListenerRights(listener, revisions, outputs));
      // last: a Lease that is refused must not keep the Role from following the revisions
      await this.#hubObjects.ensureLease(listener);
      return;
    }
    const objects = buildListenerObjects(listener, this.#settings, keyMark);
    await this.#applyRights(listener, objects);
    await applyManaged(this.#client, ownerOf(listener), {
      ref: DEPLOYMENTS,
      desired: objects.deployment,
      existing: this.#workloadOf(listener),
    });
  }

  async #applyRights(listener: Listener, rights: ListenerRights): Promise<void> {
    const { serviceAccount, role, roleBinding } = rights;
    const [client, owner, key] = [this.#client, ownerOf(listener), keyOf(role)];
    const { listenerAccounts, listenerRoles, listenerBindings } = this.#caches;
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
  }

  #workloadOf({ metadata: { name, namespace = '' } }: Listener): Deployment | undefined {
    return this.#caches.listenerWorkloads.find({ namespace, name: listenerObjectName(name) });
  }

  async #report(listener: Listener, refusal: ListenerRefusal | undefined): Promise<void> {
    const now = this.#clock.now();
    const { generation } = listener.metadata;
    const status: ListenerStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      conditions: conditionsOf(
        listener.status?.conditions,
        listenerConditions(listener, this.#workloadOf(listener), this.#heartbeats.isFresh(listener), refusal),
        { needs: neededConditions(listener), message: 'listener ready' },
        generation,
        now,
      ),
    };
    await this.#caches.listeners.seen(await this.#status.apply(RESOURCES.Listener, listener, status));
  }
}

function ownerOf(listener: Listener): ManagingOwner {
  return { kind: 'reference', ref: RESOURCES.Listener, object: listener };
}
