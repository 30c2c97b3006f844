import { apiVersionOf, type KubeObject, type OwnerReference, type ResourceRef } from '#lib/resources';

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
