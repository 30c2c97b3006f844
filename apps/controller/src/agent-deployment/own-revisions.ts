import type { Informer } from '#lib/kube';
import type { AgentDeployment, AgentRevision } from '#lib/resources';

/**
 * The revisions of a deployment as the cache has them. The owner reference alone is not enough: a listener of
 * another cluster writes the metadata of its own revisions and could name another deployment as owner. Their
 * specs are immutable, so they are compared too.
 */
export function ownRevisions(
  revisions: Pick<Informer<AgentRevision>, 'ownedBy'>,
  deployment: AgentDeployment,
): readonly AgentRevision[] {
  return revisions.ownedBy(deployment).filter((revision) => isOfDeployment(revision, deployment));
}

/** True when the spec of a revision names the deployment. */
export function isOfDeployment(
  { spec }: Pick<AgentRevision, 'spec'>,
  { metadata }: Pick<AgentDeployment, 'metadata'>,
): boolean {
  return spec.deploymentName === metadata.name;
}
