import type { ObjectKey, ResourceRef } from '#lib/resources';

/** Path of a collection: `/api/v1/namespaces/ns/pods`, or of all namespaces without one. */
export function collectionPath(ref: ResourceRef, namespace?: string): string {
  const root = ref.group === '' ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`;
  const scope =
    ref.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${ref.plural}`;
}

/** Path of one object or of a subresource of it. */
export function objectPath(ref: ResourceRef, key: ObjectKey, subresource?: string): string {
  if (ref.namespaced && !key.namespace)
    throw new Error(`${ref.kind} ${key.name} is namespaced: its namespace is missing`);
  // an empty name would address the collection, and a DELETE of it would delete everything there
  if (!key.name) throw new Error(`a ${ref.kind} without a name cannot be addressed`);
  const path = `${collectionPath(ref, key.namespace)}/${encodeURIComponent(key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}
