import { LABEL, MANAGED_BY, type RoleBinding } from '#lib/resources';

/** ClusterRole and RoleBinding of the same name; the account is that of deploy/system.yaml. */
const NAME = 'agentplane-api-logs';
const ACCOUNT = 'api';

/** Lets the api read logs of the pods of one namespace. */
export function buildLogsBinding(
  namespace: string,
  systemNamespace: string,
): RoleBinding & { readonly metadata: { readonly name: string; readonly namespace: string } } {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: NAME, namespace, labels: { [LABEL.managedBy]: MANAGED_BY } },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: systemNamespace }],
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME },
  };
}
