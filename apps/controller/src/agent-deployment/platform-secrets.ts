import { databaseSecretName, platformSecretName, type Secret, SECRET_TYPE } from '#lib/resources';
import type { Caches } from '../caches.js';

const TYPES: ReadonlySet<string> = new Set(Object.values(SECRET_TYPE));

/**
 * Whether a Secret is one of the platform's: the credentials of a destination, or what a deployment or one of its
 * revisions got from the platform. Who names it decides, and its type, which nobody can change: labels could be removed.
 */
export function isSecretOfPlatform(
  { metadata, type = '' }: Secret,
  caches: Pick<Caches, 'deployments' | 'revisions' | 'destinations'>,
): boolean {
  const { name, namespace = '' } = metadata;
  return (
    TYPES.has(type) ||
    caches.destinations.list(namespace).some(({ spec }) => spec.credentialsSecretRef?.name === name) ||
    caches.revisions.list(namespace).some(({ spec }) => spec.envSecretName === name) ||
    caches.deployments
      .list(namespace)
      .some((one) => [databaseSecretName, platformSecretName].some((of) => of(one.metadata.name) === name))
  );
}
