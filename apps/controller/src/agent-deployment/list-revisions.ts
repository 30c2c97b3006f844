import type { KubeClient } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import { type AgentDeployment, type AgentRevision, LABEL, RESOURCES } from '#lib/resources';
import { isOfDeployment } from './own-revisions.js';

/** The revisions of a deployment as the server has them, those that are being deleted included. */
export async function listRevisions(
  client: KubeClient,
  deployment: AgentDeployment,
): Promise<readonly AgentRevision[]> {
  const { namespace = '', name } = deployment.metadata;
  const labelSelector = `${LABEL.deployment}=${name}`;
  const { items } = await client.list(RESOURCES.AgentRevision, { namespace, labelSelector });
  return items.filter((one) => isOwnedBy(one, deployment) && isOfDeployment(one, deployment));
}
