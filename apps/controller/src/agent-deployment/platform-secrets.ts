import {
  BUILD_LOGIN_TYPE,
  deploymentSecretNames,
  LABEL,
  LISTENER_KEY_TYPE,
  RESOURCES,
  revisionBuildName,
  type Secret,
  SECRET_TYPE,
} from '#lib/resources';
import type { Caches } from '../caches.js';

const TYPES: ReadonlySet<string> = new Set([
  ...Object.values(SECRET_TYPE),
  BUILD_LOGIN_TYPE,
  LISTENER_KEY_TYPE,
]);

/**
 * Whether a Secret is one of the platform's: the credentials of a destination, or what a deployment, one of its revisions
 * or its build got from the platform. Its type decides, which nobody can change, or who names it: labels could be removed.
 * The credentials of a destination that a person keeps in a Secret of his own are his to give to agents as well.
 */
export function isSecretOfPlatform({ metadata, type = '' }: Secret, caches: Listed): boolean {
  const { name, namespace = '' } = metadata;
  return (
    TYPES.has(type) ||
    (isMadeForDestination(metadata) &&
      caches.destinations.list(namespace).some(({ spec }) => spec.credentialsSecretRef?.name === name)) ||
    caches.revisions
      .list(namespace)
      .some((one) => one.spec.envSecretName === name || revisionBuildName(one.metadata.name) === name) ||
    caches.deployments.list(namespace).some((one) => deploymentSecretNames(one.metadata.name).includes(name))
  );
}

type Listed = {
  readonly [Kind in 'deployments' | 'revisions' | 'destinations']: Pick<Caches[Kind], 'list'>;
};

/** By a version of the platform that gave such Secrets no type of their own. */
function isMadeForDestination({ labels = {}, ownerReferences = [] }: Secret['metadata']): boolean {
  return (
    labels[LABEL.component] === 'destination-credentials' ||
    ownerReferences.some(({ kind }) => kind === RESOURCES.BulkExportDestination.kind)
  );
}
