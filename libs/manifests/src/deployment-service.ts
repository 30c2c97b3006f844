import {
  type AgentRevision,
  ANNOTATION,
  formatSleepNote,
  LABEL,
  type Service,
  type SleepNote,
} from '#lib/resources';
import { annotationsPart, platformLabels, userLabels } from './object-labels.js';
import { agentSelector } from './revision-workload.js';

/** Program that holds requests to a deployment that sleeps, where the Service itself must lead to it. */
export interface RequestHolder {
  /** Labels of its pod. */
  readonly selector: Readonly<Record<string, string>>;
  /** Port of that pod. */
  readonly port: number;
}

/**
 * The Service of an AgentDeployment, of its name. Its label names the revision that serves, its selector the pods of
 * that revision that answer HTTP. Written by the place half of the listener only: what serves is this object and
 * nothing else.
 * @param workload name of the Deployment that runs the revision
 * @param sleep while requests wait in front of the Service
 * @param holder where the Service leads meanwhile; its own pods, where something before the Service holds requests
 */
export function buildDeploymentService(
  revision: AgentRevision,
  workload: string,
  sleep?: SleepNote,
  holder?: RequestHolder,
): Service {
  const { deploymentName, listenerName, resourceSpec } = revision.spec;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: deploymentName,
      namespace: revision.metadata.namespace,
      labels: {
        ...userLabels(resourceSpec),
        ...platformLabels('agent', {
          [LABEL.deployment]: deploymentName,
          [LABEL.revision]: revision.metadata.name,
          [LABEL.listener]: listenerName,
        }),
      },
      ...annotationsPart(
        resourceSpec,
        sleep && { [ANNOTATION.sleep]: formatSleepNote(holder ? { ...sleep, workload } : sleep) },
      ),
    },
    spec: {
      type: 'ClusterIP',
      selector: holder?.selector ?? agentSelector(workload),
      ports: [{ name: 'http', port: 80, targetPort: holder?.port ?? 'http', protocol: 'TCP' }],
    },
  };
}
