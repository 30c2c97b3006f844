import { applyManaged, isAlreadyExists, type KubeClient, type StatusWriter } from '#lib/kube';
import { buildRevisionEnvSecret } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  CONDITION,
  REASON,
  RESOURCES,
  SECRETS,
  setCondition,
} from '#lib/resources';
import { requireOwned } from './require-owned.js';
import type { Variables } from './observe.js';

/** Writes the immutable Secret with the variables of a revision. One that an interrupted pass wrote stays. */
export async function storeVariables(
  client: KubeClient,
  deployment: AgentDeployment,
  revision: AgentRevision,
  variables: Variables,
): Promise<void> {
  const desired = buildRevisionEnvSecret(deployment, revision.metadata.name, variables);
  const key = { namespace: revision.metadata.namespace ?? '', name: desired.metadata.name };
  const existing = await client.find(SECRETS, key);
  if (existing && requireOwned(existing, revision)) return;
  try {
    const owner = { kind: 'reference', ref: RESOURCES.AgentRevision, object: revision } as const;
    await applyManaged(client, owner, { ref: SECRETS, desired, existing: undefined });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Reports on the revision that its variables are stored: what comes next waits for that. */
export async function reportVariables(
  status: StatusWriter,
  revision: AgentRevision,
  now: Date,
): Promise<AgentRevision> {
  const condition = {
    type: CONDITION.variablesReady,
    status: 'True',
    reason: REASON.variablesStored,
    message: `Secret ${revision.spec.envSecretName} holds the variables`,
    observedGeneration: revision.metadata.generation ?? 1,
  } as const;
  return await status.apply(RESOURCES.AgentRevision, revision, {
    conditions: setCondition([], condition, now),
  });
}
