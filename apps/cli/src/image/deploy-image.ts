import { randomUUID } from 'node:crypto';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';

/**
 * Asks for a new revision of every deployment that names the image, in the namespace of the kubeconfig.
 * @returns the names of these deployments
 */
export async function deployImage(
  name: string,
  kubeconfigPath: string,
  clock: Clock,
): Promise<readonly string[]> {
  const connection = await loadKubeConnection({ kubeconfigPath });
  const { namespace } = connection;
  const client = new KubeClient(connection, { timeoutMs: 10_000 });
  try {
    const { items } = await client.list(RESOURCES.AgentDeployment, { namespace });
    const names = items
      .filter(({ spec }) => spec.sourceRevisionConfig?.imageUri === name)
      .map(({ metadata }) => metadata.name);
    for (const one of names) {
      const revisionRequest = { id: randomUUID(), at: clock.now().toISOString() };
      await client.merge(RESOURCES.AgentDeployment, { namespace, name: one }, { spec: { revisionRequest } });
    }
    return names;
  } finally {
    await client.close();
  }
}
