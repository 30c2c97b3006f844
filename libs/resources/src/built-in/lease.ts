import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number;
    /** RFC 3339 with microseconds. */
    readonly acquireTime?: string | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number;
  };
}

export const LEASES: ResourceRef<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
