import {
  COMPONENT,
  type Deployment,
  LABEL,
  MANAGED_BY,
  type NetworkPolicy,
  type PodDisruptionBudget,
  type RoleBinding,
} from '#lib/resources';
import { platformLabels } from './object-labels.js';

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

/**
 * Lets one pod of a Deployment be evicted at a time, and the next when the first runs again elsewhere. Pods that are not
 * ready may always be evicted: those of a failing agent must not hold a node that is drained.
 */
export function buildDisruptionBudget({
  metadata: { name, namespace, labels },
  spec: { selector },
}: Deployment): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: labels ?? {} },
    spec: { maxUnavailable: 1, selector, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  };
}

/** Rules of a NetworkPolicy for connections that pods open. */
export type EgressRules = NonNullable<NetworkPolicy['spec']['egress']>;

export const AGENT_POLICY = 'agentplane-agents';

/** Parses rules from JSON; the API server judges them. @throws Error whose message completes "NAME …" */
export function parseEgressRules(text: string): EgressRules {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) throw new Error('must be a JSON list of egress rules');
  return value as EgressRules;
}

/**
 * Allowed connections of agent pods in the namespace of a workspace: one another, and so a Postgres server of
 * their own; the port of the shared one, wherever it is; and those in the rules. Policies add up: another one
 * can allow more.
 */
export function buildAgentPolicy(namespace: string, rules: EgressRules, databasePort: number): NetworkPolicy {
  const agents = [COMPONENT.agentApi, COMPONENT.agentQueue];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: AGENT_POLICY, namespace, labels: platformLabels('agent') },
    spec: {
      podSelector: { matchExpressions: [{ key: LABEL.component, operator: 'In', values: agents }] },
      policyTypes: ['Egress'],
      egress: [{ to: [{ podSelector: {} }] }, { ports: [{ port: databasePort, protocol: 'TCP' }] }, ...rules],
    },
  };
}
