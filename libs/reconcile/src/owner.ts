import {
  apiVersionOf,
  isDeleting,
  type KubeObject,
  type OwnerReference,
  type ResourceRef,
} from '#lib/resources';

/**
 * Next step of the finalizer protocol:
 * `gone` the object is being deleted and our finalizer is off, touch nothing · `finalize` it is being
 * deleted, release
 * what we hold and then take the finalizer off · `add` put the finalizer on before anything outside is made ·
 * `proceed` reconcile.
 */
export type FinalizerStep = 'gone' | 'finalize' | 'add' | 'proceed';

export function finalizerStep(object: KubeObject, finalizer: string): FinalizerStep {
  const has = hasFinalizer(object, finalizer);
  if (isDeleting(object)) return has ? 'finalize' : 'gone';
  return has ? 'proceed' : 'add';
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** The reference that makes `owner` the controller of a child in the same namespace (or the owner of any, if cluster-scoped). */
export function controllerReference(ref: ResourceRef, owner: KubeObject): OwnerReference {
  const { name, uid } = owner.metadata;
  if (uid === undefined)
    throw new Error(`${ref.kind} ${name} has no uid: only stored objects can own others`);
  return {
    apiVersion: apiVersionOf(ref),
    kind: ref.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** The reference of the object's controller, if it has one. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true);
}

/** True when `owner` is among the object's owners (by uid). */
export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  return object.metadata.ownerReferences?.some((reference) => reference.uid === owner.metadata.uid) ?? false;
}
