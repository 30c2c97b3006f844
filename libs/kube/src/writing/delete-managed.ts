import { keyOf, type ResourceRef } from '#lib/resources';
import type { KubeClient } from '../client/kube-client.js';
import { managedSelector, type ManagingOwner } from './managing-owner.js';

/**
 * Deletes the children of an owner by label in one namespace, of one kind. Answers whether none is left: only when none
 * of any kind is may the owner's finalizer come off.
 */
export async function deleteManaged(
  client: KubeClient,
  owner: Extract<ManagingOwner, { readonly kind: 'label' }>,
  namespace: string,
  ref: ResourceRef,
): Promise<boolean> {
  const { items } = await client.list(ref, { namespace, labelSelector: managedSelector(owner) });
  for (const { metadata } of items)
    if (metadata.deletionTimestamp === undefined)
      await client.delete(ref, keyOf({ metadata }), metadata.uid === undefined ? {} : { uid: metadata.uid });
  return items.length === 0;
}
