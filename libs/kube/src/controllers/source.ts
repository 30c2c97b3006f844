import {
  apiVersionOf,
  keyOf,
  keyText,
  type KubeObject,
  type ObjectKey,
  type OwnerReference,
  type ResourceRef,
} from '#lib/resources';
import type { Informer } from '../informer/informer.js';
import type { Change } from '../informer/store.js';

/** Source of a controller's keys: feeds keys whenever something changes, and all of them at the start. */
export interface Source {
  /** Begins to feed; the result ends it. */
  feed(enqueue: (key: ObjectKey) => void): () => void;
}

/** The keys of the objects themselves. `when` may leave changes out, for instance those of a status alone. */
export function fromObjects<T extends KubeObject>(
  informer: Informer<T>,
  when: (change: Change<T>) => boolean = () => true,
): Source {
  return {
    feed: (enqueue) =>
      informer.on((change) => {
        if (when(change)) enqueue(keyOf(change.object));
      }),
  };
}

/**
 * The keys of the objects' owners of one kind, the former owners of a changed object included. `when` may leave changes
 * out.
 */
export function fromOwned<T extends KubeObject>(
  informer: Informer<T>,
  owner: ResourceRef,
  when?: (change: Change<T>) => boolean,
): Source {
  return fromMapped(
    informer,
    (object) =>
      (object.metadata.ownerReferences ?? [])
        .filter((reference) => isOfKind(reference, owner))
        .map(({ name }) => keyOfOwner(owner, name, object)),
    when,
  );
}

/** Any keys that a changed object concerns, before and after its change. `when` may leave changes out. */
export function fromMapped<T extends KubeObject>(
  informer: Informer<T>,
  keys: (object: T) => readonly ObjectKey[],
  when: (change: Change<T>) => boolean = () => true,
): Source {
  return {
    feed: (enqueue) =>
      informer.on((change) => {
        if (!when(change)) return;
        const before = change.kind === 'changed' ? keys(change.before) : [];
        // each once: a pass that the first begins would be followed by another one for the second
        const all = new Map([...before, ...keys(change.object)].map((key) => [keyText(key), key]));
        for (const key of all.values()) enqueue(key);
      }),
  };
}

/**
 * Leaves out changes of the status alone: additions, deletions, new generations, labels, annotations, finalizers count.
 * Kinds without generations (ConfigMap, Secret) have no status either: every change of theirs counts.
 */
export function isDesiredChange<T extends KubeObject>(change: Change<T>): boolean {
  if (change.kind !== 'changed') return true;
  const [a, b] = [change.before.metadata, change.object.metadata];
  return (
    b.generation === undefined ||
    a.generation !== b.generation ||
    a.deletionTimestamp !== b.deletionTimestamp ||
    JSON.stringify([a.labels, a.annotations, a.finalizers]) !==
      JSON.stringify([b.labels, b.annotations, b.finalizers])
  );
}

function keyOfOwner(owner: ResourceRef, name: string, child: KubeObject): ObjectKey {
  const { namespace } = child.metadata;
  return owner.namespaced && namespace !== undefined ? { namespace, name } : { name };
}

function isOfKind(reference: OwnerReference, ref: ResourceRef): boolean {
  return reference.kind === ref.kind && reference.apiVersion === apiVersionOf(ref);
}
