import type { KubeObject } from '../kube-object.js';
import type { ResourceRef } from '../resource-ref.js';
import type { LabelSelector } from './workload.js';

export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Role extends KubeObject {
  readonly rules?: readonly PolicyRule[] | null;
}

export interface ClusterRole extends Role {
  /** Sources of the rules, when a controller fills them in. */
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly LabelSelector[] } | null;
}

export interface RoleBinding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly apiGroup?: string;
  }[];
}

function rbac<T extends KubeObject>(plural: string, kind: string, namespaced: boolean): ResourceRef<T> {
  return { group: 'rbac.authorization.k8s.io', version: 'v1', plural, kind, namespaced };
}

export const ROLES: ResourceRef<Role> = rbac('roles', 'Role', true);
export const ROLE_BINDINGS: ResourceRef<RoleBinding> = rbac('rolebindings', 'RoleBinding', true);
export const CLUSTER_ROLES: ResourceRef<ClusterRole> = rbac('clusterroles', 'ClusterRole', false);
export const CLUSTER_ROLE_BINDINGS: ResourceRef<RoleBinding> = rbac(
  'clusterrolebindings',
  'ClusterRoleBinding',
  false,
);
