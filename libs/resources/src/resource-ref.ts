import type { KubeObject } from './kube-object.js';

/**
 * Names a kind towards the API server. `T` is the type of its objects; a literal without the phantom field works too,
 * and then the caller names `T`.
 */
export interface ResourceRef<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Never set: carries `T` for type inference. */
  readonly object?: T;
}

/** `v1` or `group/version`. */
export function apiVersionOf(ref: Pick<ResourceRef, 'group' | 'version'>): string {
  return ref.group === '' ? ref.version : `${ref.group}/${ref.version}`;
}

/**
 * Parameter of requests by which the embedded API server leaves `metadata.managedFields` out of events of watches and of
 * answers to writes.
 */
export const OMIT_MANAGED_FIELDS = 'omitManagedFields';
