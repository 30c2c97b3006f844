import { LABEL, MANAGED_BY, type RoleBinding } from '#lib/resources';

/** Each the name of a ClusterRole of deploy/system.yaml, and of its RoleBindings. */
const ROLES = ['agentplane-api-logs', 'agentplane-api-secrets'] as const;
const ACCOUNT = 'api';

/** Let the api read logs of the pods of one namespace, and keep Secrets there. */
export function buildApiBindings(
  namespace: string,
  systemNamespace: string,
): readonly (RoleBinding & { readonly metadata: { readonly name: string; readonly namespace: string } })[] {
  return ROLES.map((name) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace, labels: { [LABEL.managedBy]: MANAGED_BY } },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: systemNamespace }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  }));
}
