import type { KubeClient, Reader } from '#lib/kube';
import { ANNOTATION, idOf, keyOf, type KubeObject, type ResourceRef } from '#lib/resources';
import { decideId } from './decide-id.js';

/**
 * Gives the object its id where it has none of its own; answers the object as it then is.
 * @param isTaken returns true when a chosen id belongs to an object that is no longer in the API server
 */
export async function ensureId<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  all: Reader<T>,
  isTaken?: (id: string) => Promise<boolean>,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  const chosen = idOf(object);
  const id =
    decideId(object, all.list()) ??
    (isTaken && chosen !== undefined && chosen !== uid && (await isTaken(chosen)) ? uid : undefined);
  if (id === undefined) return object;
  const annotations = { [ANNOTATION.id]: id };
  return await client.mergeMetadata(ref, keyOf(object), { uid, resourceVersion, annotations });
}
