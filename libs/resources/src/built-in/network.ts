import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import type { LabelSelector } from './workload.js';

/** Other end of a connection: both selectors hold, the pod's own namespace where none is selected. */
export interface NetworkPolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface NetworkPolicyPort {
  readonly port?: number | string;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP';
}

export interface NetworkPolicy extends KubeObject {
  readonly spec: {
    readonly podSelector: LabelSelector;
    readonly policyTypes?: readonly ('Ingress' | 'Egress')[];
    readonly ingress?: readonly {
      readonly from?: readonly NetworkPolicyPeer[];
      readonly ports?: readonly NetworkPolicyPort[];
    }[];
    readonly egress?: readonly {
      readonly to?: readonly NetworkPolicyPeer[];
      readonly ports?: readonly NetworkPolicyPort[];
    }[];
  };
}

export const NETWORK_POLICIES: ResourceRef<NetworkPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  namespaced: true,
};
