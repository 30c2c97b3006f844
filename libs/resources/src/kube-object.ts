import type { ObjectMeta } from './object-meta.js';

/** Any object of the Kubernetes API, as plain JSON. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** True when the object's deletion was requested. */
export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}
