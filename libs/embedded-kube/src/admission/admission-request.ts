import type { ResourceType } from '#lib/kube-semantics';
import type { ObjectStore } from '../store/object-store.js';

/** Input of an admission rule for a create. */
export interface Admission {
  readonly type: ResourceType;
  readonly namespace: string;
  readonly store: ObjectStore;
}
