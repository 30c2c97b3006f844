import { hasFinalizer } from '#lib/reconcile';
import { keyOf, type KubeObject, type ResourceRef } from '#lib/resources';
import { isNotFound } from '../client/kube-api-error.js';
import type { KubeClient, Untyped } from '../client/kube-client.js';

/** Puts a finalizer on, before anything outside is made. Conflict when the object changed since it was read. */
export async function addFinalizer<T extends KubeObject = Untyped>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  if (hasFinalizer(object, finalizer)) return object;
  return await write(client, ref, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/** Takes a finalizer off, after everything is released; which may end the object. */
export async function removeFinalizer<T extends KubeObject = Untyped>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const others = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
  try {
    await write(client, ref, object, others);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The list is replaced as a whole, so the version it was computed from must still be the present one. */
async function write<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  finalizers: readonly string[],
): Promise<T> {
  const { resourceVersion, uid } = object.metadata;
  return await client.mergeMetadata(ref, keyOf(object), { resourceVersion, uid, finalizers });
}
