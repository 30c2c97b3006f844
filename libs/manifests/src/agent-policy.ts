import { COMPONENT, LABEL, type NetworkPolicy } from '#lib/resources';
import { platformLabels } from './object-labels.js';

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
