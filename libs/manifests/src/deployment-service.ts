import { type AgentRevision, LABEL, type Service } from '#lib/resources';
import { platformLabels } from './object-labels.js';

/**
 * The Service of an AgentDeployment, of its name, pointing to one revision. Written by the listener only: which revision
 * serves is this selector and nothing else.
 */
export function buildDeploymentService(revision: AgentRevision): Service {
  const { deploymentName, listenerName } = revision.spec;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: deploymentName,
      namespace: revision.metadata.namespace,
      labels: platformLabels('agent', { [LABEL.deployment]: deploymentName, [LABEL.listener]: listenerName }),
    },
    spec: {
      type: 'ClusterIP',
      selector: { [LABEL.revision]: revision.metadata.name },
      ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
    },
  };
}
