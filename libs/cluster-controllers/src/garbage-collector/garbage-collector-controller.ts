import { isNotFound, type Change, type ControllerSpec, type DiscoveredResource } from '#lib/kube';
import { after, done, hasFinalizer, wait, type Result } from '#lib/reconcile';
import {
  apiVersionOf,
  CUSTOM_RESOURCE_DEFINITIONS,
  isDeleting,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  type ResourceRef,
} from '#lib/resources';
import type { ClusterContext } from '../context/cluster-context.js';
import type { Discovery } from '../context/discovery.js';
import { decideCollection, type OwnerState, type OwnerView } from './decide-collection.js';
import { type GraphItem, isSameScope, OwnershipGraph, ownersOf } from './ownership-graph.js';

const FOREGROUND = 'foregroundDeletion';
const ORPHAN = 'orphan';
const METADATA = { metadataOnly: true } as const;
/** The key under which the set of kinds is brought up to date; object keys are uids. */
const KINDS_KEY: ObjectKey = { namespace: 'kinds', name: 'all' };
const KINDS_AGAIN_MS = 300_000;
/** Short-lived and never owned, or written every few seconds. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
]);

/**
 * Deletes what lost its last owner, and finishes foreground deletions and orphanings. Follows the metadata of every
 * kind that can be listed, watched and deleted.
 */
export function garbageCollectorController(context: ClusterContext, discovery: Discovery): ControllerSpec {
  const collector = new GarbageCollector(context, discovery);
  return {
    name: 'garbage-collector',
    concurrency: 8,
    reconcile: (key) => collector.reconcile(key),
    sources: [
      { feed: (enqueue) => collector.feed(enqueue) },
      {
        feed: (enqueue) =>
          context.informers.of(CUSTOM_RESOURCE_DEFINITIONS).on(() => {
            discovery.forget();
            enqueue(KINDS_KEY);
          }),
      },
    ],
  };
}

class GarbageCollector {
  readonly #context: ClusterContext;
  readonly #discovery: Discovery;
  readonly #graph = new OwnershipGraph();
  readonly #followed = new Map<string, { readonly ref: ResourceRef; readonly end: () => void }>();
  /** Owners that were looked for and not found; uids never come back. */
  readonly #absent = new Set<string>();
  #enqueue: (key: ObjectKey) => void = () => undefined;

  constructor(context: ClusterContext, discovery: Discovery) {
    this.#context = context;
    this.#discovery = discovery;
  }

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    enqueue(KINDS_KEY);
    return () => {
      for (const { end } of this.#followed.values()) end();
    };
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    if (key.namespace === KINDS_KEY.namespace) return await this.#followKinds();
    const item = this.#graph.find(key.name);
    if (!item) return done();
    if (!this.#isComplete()) return wait('CachesNotComplete', 500);
    if (isDeleting(item.object)) return await this.#finishDeletion(item);
    if (ownersOf(item.object).length === 0) return done();
    return await this.#collect(item);
  }

  /** New kinds are followed, kinds that are no more are forgotten. */
  async #followKinds(): Promise<Result> {
    const served = new Map<string, DiscoveredResource>();
    for (const resource of await this.#discovery.resources()) {
      const { verbs } = resource;
      const isCollectable = ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb));
      if (isCollectable && !LEFT_OUT.has(idOf(resource))) served.set(idOf(resource), resource);
    }
    for (const [id, { ref, end }] of this.#followed) {
      if (served.has(id)) continue;
      end();
      this.#followed.delete(id);
      await this.#context.informers.drop(ref, METADATA);
    }
    for (const [id, ref] of served) {
      if (this.#followed.has(id)) continue;
      const informer = this.#context.informers.of<KubeObject>(ref, METADATA);
      informer.start();
      this.#followed.set(id, { ref, end: informer.on((change) => this.#see(ref, change)) });
    }
    return after(KINDS_AGAIN_MS);
  }

  #see(ref: ResourceRef, change: Change<KubeObject>): void {
    const { object } = change;
    const uid = object.metadata.uid ?? '';
    if (change.kind === 'deleted') {
      this.#graph.remove(uid);
      this.#remember(uid);
      for (const dependent of this.#graph.dependentsOf(uid)) this.#enqueueItem(dependent.object);
      for (const owner of ownersOf(object)) this.#enqueue(itemKey(owner.uid));
      return;
    }
    this.#graph.put({ ref, object });
    const isOwned = ownersOf(object).length > 0;
    const isFinishing =
      isDeleting(object) && (hasFinalizer(object, FOREGROUND) || hasFinalizer(object, ORPHAN));
    if ((isOwned && (change.kind === 'added' || hasOtherOwners(change.before, object))) || isFinishing)
      this.#enqueueItem(object);
    // an owner may now wait for fewer
    if (change.kind === 'changed' && hasOtherOwners(change.before, object))
      for (const owner of ownersOf(change.before)) this.#enqueue(itemKey(owner.uid));
  }

  /** Deciding that something has no dependents takes all of them: every kind must have been listed once. */
  #isComplete(): boolean {
    return [...this.#followed.values()].every(
      ({ ref }) => this.#context.informers.of(ref, METADATA).hasSynced,
    );
  }

  async #collect(item: GraphItem): Promise<Result> {
    const { client } = this.#context;
    const { uid = '', resourceVersion = '', finalizers = [] } = item.object.metadata;
    const owners: OwnerView[] = [];
    // one after the other: an object may name thousands, each of which may have to be looked for
    for (const owner of ownersOf(item.object))
      owners.push({ uid: owner.uid, state: await this.#stateOf(item, owner) });
    const hasDependents = this.#graph.dependentsOf(uid).length > 0;
    const decision = decideCollection({ owners, finalizers, hasDependents });
    switch (decision.kind) {
      case 'keep':
        return done();
      case 'ask-later':
        return wait('OwnerKindNotServed', 30_000);
      case 'drop-references': {
        const gone = new Set(decision.uids);
        const left = ownersOf(item.object).filter((owner) => !gone.has(owner.uid));
        await this.#patch(item, { ownerReferences: left });
        return done();
      }
      case 'delete':
        if (decision.propagation === 'Foreground') await this.#breakCircle(item);
        await client.delete(item.ref, keyOf(item.object), {
          uid,
          propagation: decision.propagation,
          // after a broken circle the version is another one
          ...(decision.propagation === 'Foreground' ? {} : { resourceVersion }),
        });
        return done();
      default:
        return decision satisfies never;
    }
  }

  /** Two objects that own each other would block each other without end: the second stops blocking. */
  async #breakCircle(item: GraphItem): Promise<void> {
    const dependents = this.#graph.dependentsOf(item.object.metadata.uid ?? '');
    const isCircle = dependents.some(({ object }) => isDeleting(object) && hasFinalizer(object, FOREGROUND));
    if (!isCircle) return;
    const ownerReferences = ownersOf(item.object).map((owner) => ({ ...owner, blockOwnerDeletion: false }));
    await this.#patch(item, { ownerReferences });
  }

  async #finishDeletion(item: GraphItem): Promise<Result> {
    const { object } = item;
    const uid = object.metadata.uid ?? '';
    if (hasFinalizer(object, ORPHAN)) {
      for (const dependent of this.#graph.dependentsOf(uid)) {
        const left = ownersOf(dependent.object).filter((owner) => owner.uid !== uid);
        await this.#patch(dependent, { ownerReferences: left });
      }
      await this.#dropFinalizer(item, ORPHAN);
      return done();
    }
    if (!hasFinalizer(object, FOREGROUND)) return done();
    const dependents = this.#graph.dependentsOf(uid);
    for (const { object: dependent } of dependents) if (!isDeleting(dependent)) this.#enqueueItem(dependent);
    if (this.#graph.blockersOf(uid).length === 0) await this.#dropFinalizer(item, FOREGROUND);
    return done();
  }

  async #dropFinalizer(item: GraphItem, finalizer: string): Promise<void> {
    const finalizers = item.object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
    await this.#patch(item, { finalizers });
  }

  async #patch(item: GraphItem, metadata: object): Promise<void> {
    const { uid, resourceVersion } = item.object.metadata;
    try {
      await this.#context.client.merge(item.ref, keyOf(item.object), {
        metadata: { uid, resourceVersion, ...metadata },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #stateOf(item: GraphItem, owner: OwnerReference): Promise<OwnerState> {
    const known = this.#graph.find(owner.uid);
    if (known) return isSameScope(item, known) ? aliveState(known.object) : 'absent';
    if (this.#absent.has(owner.uid)) return 'absent';
    const ref = await this.#refOf(owner);
    if (!ref) return 'unknown';
    const { namespace } = item.object.metadata;
    // what belongs to no namespace cannot be owned by what does
    if (ref.namespaced && namespace === undefined) return 'absent';
    const key =
      ref.namespaced && namespace !== undefined ? { namespace, name: owner.name } : { name: owner.name };
    const live = await this.#context.client.find(ref, key);
    if (live?.metadata.uid === owner.uid) return aliveState(live);
    this.#remember(owner.uid);
    return 'absent';
  }

  async #refOf(owner: OwnerReference): Promise<ResourceRef | undefined> {
    const [group] = owner.apiVersion.includes('/') ? owner.apiVersion.split('/') : [''];
    const resources = await this.#discovery.resources();
    const exact = resources.find((ref) => ref.kind === owner.kind && apiVersionOf(ref) === owner.apiVersion);
    return exact ?? resources.find((ref) => ref.kind === owner.kind && ref.group === group);
  }

  #remember(uid: string): void {
    this.#absent.add(uid);
    if (this.#absent.size <= 5_000) return;
    for (const oldest of this.#absent) {
      this.#absent.delete(oldest);
      return;
    }
  }

  #enqueueItem(object: KubeObject): void {
    this.#enqueue(itemKey(object.metadata.uid ?? ''));
  }
}

function itemKey(uid: string): ObjectKey {
  return { namespace: 'uid', name: uid };
}

function idOf(ref: ResourceRef): string {
  return `${ref.group}/${ref.plural}`;
}

function aliveState(owner: KubeObject): OwnerState {
  return isDeleting(owner) && hasFinalizer(owner, FOREGROUND) ? 'waiting' : 'solid';
}

function hasOtherOwners(before: KubeObject, after: KubeObject): boolean {
  return JSON.stringify(ownersOf(before)) !== JSON.stringify(ownersOf(after));
}
