import { customHostOf } from '#lib/manifests';
import type { AgentDeployment } from '#lib/resources';
import type { DeploymentWorld } from './observe.js';

/**
 * The host that a deployment has by its custom URL; undefined while another deployment has it. A host stays
 * with the deployment that has it: an older one of another workspace that asks for it later must not receive
 * the requests of callers, keys included. The oldest of those that ask for a free host gets it, so two that
 * are reconciled at the same moment agree.
 */
export function claimHost({
  deployment,
  hostRivals,
}: Pick<DeploymentWorld, 'deployment' | 'hostRivals'>): string | undefined {
  const host = customHostOf(deployment);
  if (host === undefined) return undefined;
  const holders = hostRivals.filter(({ status }) => status?.customHost === host);
  const rivals = holders.length === 0 ? hostRivals : holders;
  const isHolder = deployment.status?.customHost === host;
  if (holders.length > 0 && !isHolder) return undefined;
  if (holders.length === 0 && isHolder) return host;
  return rivals.every((rival) => ageOf(deployment) < ageOf(rival)) ? host : undefined;
}

/** Sorts from the oldest on. */
function ageOf({ metadata }: AgentDeployment): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}
