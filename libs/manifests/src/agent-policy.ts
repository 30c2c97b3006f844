import {
  COMPONENT,
  type Deployment,
  FINALIZER,
  LABEL,
  MANAGED_BY,
  type NetworkPolicy,
  type PodDisruptionBudget,
  type RoleBinding,
} from '#lib/resources';
import { platformLabels } from './object-labels.js';

/** The controller's own right to the Secrets of a workspace. */
export const CONTROLLER_SECRETS = 'agentplane-controller-secrets';

/** Names of ClusterRoles of deploy/system.yaml, and of their RoleBindings, with the account that has them. */
const ROLES = [
  ['agentplane-api-logs', 'api'],
  ['agentplane-api-secrets', 'api'],
  [CONTROLLER_SECRETS, 'controller'],
] as const;

/**
 * Let the platform's programs into the namespace of one workspace: the api reads logs of pods and keeps Secrets
 * there, the controller keeps Secrets. The controller's stays until finalizers of the namespace no longer need it.
 */
export function buildProgramBindings(
  namespace: string,
  systemNamespace: string,
): readonly (RoleBinding & { readonly metadata: { readonly name: string; readonly namespace: string } })[] {
  return ROLES.map(([name, account]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: {
      name,
      namespace,
      labels: { [LABEL.managedBy]: MANAGED_BY },
      ...(name === CONTROLLER_SECRETS ? { finalizers: [FINALIZER.workspace] } : {}),
    },
    subjects: [{ kind: 'ServiceAccount', name: account, namespace: systemNamespace }],
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
