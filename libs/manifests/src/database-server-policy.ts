import { type AgentDeployment, COMPONENT, LABEL, type NetworkPolicy } from '#lib/resources';
import { DATABASE_PORT, serverMetadata, serverSelector } from './database-server-names.js';

/** Pods of the controller, as the chart labels them: they make database and role. */
const CONTROLLER = { 'app.kubernetes.io/name': 'agentplane', [LABEL.component]: 'controller' };

/**
 * Who may reach the server: agents of its deployment, and the controller. It opens no connection itself. Policies add to one
 * another, so that users admit what they want besides by one of their own.
 * @param controllerNamespace where the controller's pods are
 */
export function buildServerPolicy(deployment: AgentDeployment, controllerNamespace: string): NetworkPolicy {
  const agents = [COMPONENT.agentApi, COMPONENT.agentQueue];
  return {
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: serverMetadata(deployment) },
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
