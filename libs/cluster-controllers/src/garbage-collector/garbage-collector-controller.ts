import { unless } from '#lib/errors';
import { isNotFound, type Change, type ControllerSpec, type DiscoveredResource } from '#lib/kube';
import { after, done, hasFinalizer, wait, type Result } from '#lib/reconcile';
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  isDeleting,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type ResourceRef,
} from '#lib/resources';
import type { ClusterContext, Discovery } from '../context/discovery.js';
import { decideCollection, FOREGROUND, OwnerLookup } from './owner-lookup.js';
import { type GraphItem, OwnershipGraph, ownersOf } from './ownership-graph.js';

const ORPHAN = 'orphan';
const METADATA = { metadataOnly: true } as const;
/** The key under which the set of kinds is brought up to date; the names of others are uids. */
const KINDS_KEY: ObjectKey = { name: 'all kinds' };
const KINDS_AGAIN_MS = 300_000;
/** Dependents that one pass orphans: other namespaces wait meanwhile. */
const ORPHANS_IN_A_PASS = 50;
/** Short-lived and never owned, or written every few seconds. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
]);

/**
 * Deletes objects that lost their last owner, and finishes foreground deletions and orphanings. Follows the
 * metadata of every kind that can be listed, watched and deleted. Keys have the namespace of their object, so
 * that namespaces are served in rotation, and a pass is short, however many owners or dependents its object
 * has.
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
  readonly #graph = new OwnershipGraph();
  readonly #followed = new Map<string, { readonly ref: ResourceRef; readonly end: () => void }>();
  readonly #owners: OwnerLookup;
  #enqueue: (key: ObjectKey) => void = () => undefined;

  constructor(
    private readonly context: ClusterContext,
    private readonly discovery: Discovery,
  ) {
    this.#owners = new OwnerLookup(context.client, discovery, this.#graph);
  }

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    enqueue(KINDS_KEY);
    return () => {
      for (const { end } of this.#followed.values()) end();
    };
  }

  async reconcile(key: ObjectKey): Promise<Result> {
    if (key.name === KINDS_KEY.name) return await this.#followKinds();
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
    for (const resource of await this.discovery.resources()) {
      const { verbs } = resource;
      const isCollectable = ['list', 'watch', 'delete'].every((verb) => verbs.includes(verb));
      if (isCollectable && !LEFT_OUT.has(idOf(resource))) served.set(idOf(resource), resource);
    }
    for (const [id, { ref, end }] of this.#followed) {
      if (served.has(id)) continue;
      end();
      this.#followed.delete(id);
      await this.context.informers.drop(ref, METADATA);
    }
    for (const [id, ref] of served) {
      if (this.#followed.has(id)) continue;
      const informer = this.context.informers.of<KubeObject>(ref, METADATA, ownershipOf);
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
      this.#owners.forget(ref, object);
      for (const dependent of this.#graph.dependentsOf(uid)) this.#enqueueItem(dependent.object);
      for (const owner of ownersOf(object)) this.#enqueueUid(owner.uid);
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
      for (const owner of ownersOf(change.before)) this.#enqueueUid(owner.uid);
  }

  /** Deciding that something has no dependents takes all of them: every kind must have been listed once. */
  #isComplete(): boolean {
    return [...this.#followed.values()].every(
      ({ ref }) => this.context.informers.of(ref, METADATA).hasSynced,
    );
  }

  async #collect(item: GraphItem): Promise<Result> {
    const { client } = this.context;
    const { uid = '', resourceVersion = '', finalizers = [] } = item.object.metadata;
    const owners = await this.#owners.ownersOf(item);
    if (!owners) return after(0);
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
      const dependents = this.#graph.dependentsOf(uid);
      for (const dependent of dependents.slice(0, ORPHANS_IN_A_PASS)) {
        const left = ownersOf(dependent.object).filter((owner) => owner.uid !== uid);
        await this.#patch(dependent, { ownerReferences: left });
      }
      // the graph knows of these patches by the next pass
      if (dependents.length > ORPHANS_IN_A_PASS) return after(100);
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
    const change = { metadata: { uid, resourceVersion, ...metadata } };
    await this.context.client.merge(item.ref, keyOf(item.object), change).catch(unless(isNotFound));
  }

  #enqueueUid(uid: string): void {
    const item = this.#graph.find(uid);
    if (item) this.#enqueueItem(item.object);
  }

  #enqueueItem({ metadata: { uid = '', namespace } }: KubeObject): void {
    this.#enqueue(namespace === undefined ? { name: uid } : { namespace, name: uid });
  }
}

/** The metadata of an object without what is largest in it, since those of all objects are kept. */
function ownershipOf({ metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers, ownerReferences } = metadata;
  const kept = { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers, ownerReferences };
  return { metadata: JSON.parse(JSON.stringify(kept)) as KubeObject['metadata'] };
}

function idOf(ref: ResourceRef): string {
  return `${ref.group}/${ref.plural}`;
}

function hasOtherOwners(before: KubeObject, after: KubeObject): boolean {
  return JSON.stringify(ownersOf(before)) !== JSON.stringify(ownersOf(after));
}
