import type { KubeClient } from '#lib/kube';
import { type AgentRevision, LABEL, RESOURCES } from '#lib/resources';
import type { TestTenant } from './running-api.js';

/** A revision as the controller would make it. */
export async function makeRevision(
  client: KubeClient,
  { namespace, tenantId }: Pick<TestTenant, 'namespace' | 'tenantId'>,
  { name, id, number }: { readonly name: string; readonly id: string; readonly number: number },
  more: Partial<AgentRevision['spec']> = {},
): Promise<AgentRevision> {
  const revision = `${name}-0000${number}`;
  const made = await client.create<AgentRevision>(RESOURCES.AgentRevision, {
    metadata: {
      name: revision,
      namespace,
      annotations: { 'agentplane.dev/id': id },
      labels: { [LABEL.deployment]: name },
    },
    spec: {
      deploymentName: name,
      deploymentWireName: name,
      tenantId,
      number,
      source: 'internal_image',
      imageUri: 'sample-agent',
      envSecretName: `${revision}-env`,
      databaseSecretName: `${name}-database`,
      platformSecretName: `${name}-platform`,
      listenerName: 'default',
      ...more,
    },
  });
  await client.mergeStatus(
    RESOURCES.AgentDeployment,
    { namespace, name },
    { status: { handledRevisionRequestId: id, latestRevisionId: id, latestRevisionName: revision } },
  );
  return made;
}
