import type { Deployment, PodDisruptionBudget } from '#lib/resources';

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
