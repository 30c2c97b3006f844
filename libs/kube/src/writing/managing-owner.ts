import { controllerReference, hasFinalizer, isOwnedBy } from '#lib/reconcile';
import { type KubeObject, LABEL, type ObjectMeta, type ResourceRef } from '#lib/resources';

/**
 * The object that a child is made for, and how the child shows it.
 *
 * - **reference**: an owner reference, inside one namespace; the cluster's garbage collector removes the child
 * - **label**: the owner's uid in `agentplane.dev/owner`, across namespaces and clusters, where an owner reference would
 *   make the garbage collector remove the child at once. The finalizer keeps the owner until `deleteManaged` has removed
 *   its children, so the owner must carry it before the first child is made
 */
export type ManagingOwner =
  | { readonly kind: 'reference'; readonly ref: ResourceRef; readonly object: KubeObject }
  | { readonly kind: 'label'; readonly object: KubeObject; readonly finalizer: string };

/** True when the object was made for this owner. */
export function belongsTo(object: KubeObject, owner: ManagingOwner): boolean {
  switch (owner.kind) {
    case 'reference':
      return isOwnedBy(object, owner.object);
    case 'label':
      return object.metadata.labels?.[LABEL.owner] === uidOf(owner.object);
    default:
      return owner satisfies never;
  }
}

/** The metadata by which a child shows its owner, added to its own. */
export function ownedMetadata<T extends Partial<ObjectMeta>>(metadata: T, owner: ManagingOwner): T {
  switch (owner.kind) {
    case 'reference':
      return { ...metadata, ownerReferences: [controllerReference(owner.ref, owner.object)] };
    case 'label':
      if (!hasFinalizer(owner.object, owner.finalizer))
        throw new Error(`${owner.object.metadata.name} has no finalizer ${owner.finalizer} to keep it`);
      return { ...metadata, labels: { ...metadata.labels, [LABEL.owner]: uidOf(owner.object) } };
    default:
      return owner satisfies never;
  }
}

/** Selects the children of an owner by label. */
export function managedSelector(owner: Extract<ManagingOwner, { readonly kind: 'label' }>): string {
  return `${LABEL.owner}=${uidOf(owner.object)}`;
}

function uidOf({ metadata }: KubeObject): string {
  if (metadata.uid === undefined)
    throw new Error(`${metadata.name} has no uid: only stored objects can own others`);
  return metadata.uid;
}
