import { idOf, keyOf, type KubeObject, RESOURCES } from '#lib/resources';
import type { Hands } from './row-action.js';

/**
 * A new revision as an earlier one was. REST also sets the spec back to it; without REST the revision is made alone, and
 * the next change of the deployment starts from the spec as it is.
 */
export async function redeploy(deployment: KubeObject, revisionId: string, hands: Hands): Promise<void> {
  const id = idOf(deployment) ?? '';
  if (hands.rest) {
    await hands.rest.request('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`);
    return;
  }
  const spec = { revisionRequest: { id: hands.newId(), fromRevisionId: revisionId } };
  await hands.client.merge(RESOURCES.AgentDeployment, keyOf(deployment), { spec });
}
