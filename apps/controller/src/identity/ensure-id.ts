import type { KubeClient, Reader } from '#lib/kube';
import { ANNOTATION, keyOf, type KubeObject, type ResourceRef } from '#lib/resources';
import { decideId } from './decide-id.js';

/** Gives the object its id where it has none of its own; answers the object as it then is. */
export async function ensureId<T extends KubeObject>(
  client: KubeClient,
  ref: ResourceRef<T>,
  object: T,
  all: Reader<T>,
): Promise<T> {
  const id = decideId(object, all.list());
  if (id === undefined) return object;
  const { uid, resourceVersion } = object.metadata;
  const annotations = { [ANNOTATION.id]: id };
  return await client.mergeMetadata(ref, keyOf(object), { uid, resourceVersion, annotations });
}
