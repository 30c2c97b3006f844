import type { KubeObject } from './kube-object.js';

/** Namespace and name of an object of a known kind. */
export interface ObjectKey {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

/** The key of an object. */
export function keyOf(object: KubeObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

/** `namespace/name`, or `name` for cluster-scoped objects: the form in queues, stores and logs. */
export function keyText(key: ObjectKey): string {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

/** The inverse of `keyText`. */
export function parseKey(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return slash === -1 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}
