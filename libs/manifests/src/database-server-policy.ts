import { type AgentDeployment, COMPONENT, LABEL, type NetworkPolicy } from '#lib/resources';
import { DATABASE_PORT, serverMetadata, serverSelector } from './database-server-names.js';

/** Pods of the controller, as the chart labels them: they make database and role. */
const CONTROLLER = { 'app.kubernetes.io/name': 'agentplane', [LABEL.component]: 'controller' };

/**
 * Allows connections to the server from agents of its deployment, and from the controller. It opens no
 * connection itself. Policies add up, so that users allow more by one of their own.
 * @param controllerNamespace namespace of the controller's pods
 */
export function buildServerPolicy(deployment: AgentDeployment, controllerNamespace: string): NetworkPolicy {
  const agents = [COMPONENT.agentApi, COMPONENT.agentQueue];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: serverMetadata(deployment),
    spec: {
      podSelector: { matchLabels: serverSelector(deployment) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [
            {
              podSelector: {
                matchLabels: { [LABEL.deployment]: deployment.metadata.name },
                matchExpressions: [{ key: LABEL.component, operator: 'In', values: agents }],
              },
            },
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': controllerNamespace } },
              podSelector: { matchLabels: CONTROLLER },
            },
          ],
          ports: [{ port: DATABASE_PORT, protocol: 'TCP' }],
        },
      ],
    },
  };
}
