import {
  type AgentDeployment,
  type AgentRevision,
  databaseServerName,
  deploymentSecretNames,
  revisionBuildName,
} from '#lib/resources';

/** Objects of a namespace that determine which names are the platform's there. */
export interface NamedByPlatform {
  readonly deployments: { list(namespace: string): readonly AgentDeployment[] };
  readonly revisions: { list(namespace: string): readonly AgentRevision[] };
}

/**
 * True when a deployment or a revision of the namespace has a Secret of this name from the platform, or will
 * have one.
 */
export function isSecretName(
  name: string,
  namespace: string,
  { deployments, revisions }: NamedByPlatform,
): boolean {
  return (
    revisions
      .list(namespace)
      .some((one) => one.spec.envSecretName === name || revisionBuildName(one.metadata.name) === name) ||
    deployments.list(namespace).some((one) => deploymentSecretNames(one.metadata.name).includes(name))
  );
}

/**
 * True when a deployment of the namespace has, or will have, the volume of its own Postgres server under this
 * name.
 */
export function isClaimName(
  name: string,
  namespace: string,
  { deployments }: Pick<NamedByPlatform, 'deployments'>,
): boolean {
  return deployments.list(namespace).some((one) => databaseServerName(one.metadata.name) === name);
}
