import { isSecretName } from '#lib/manifests';
import {
  type AgentDeployment,
  API_VERSION,
  BUILD_LOGIN_TYPE,
  LABEL,
  LISTENER_KEY_TYPE,
  listenerObjectName,
  RESOURCES,
  type Secret,
  SECRET_TYPE,
} from '#lib/resources';
import type { Caches } from '../caches.js';

const TYPES: ReadonlySet<string> = new Set([
  ...Object.values(SECRET_TYPE),
  BUILD_LOGIN_TYPE,
  LISTENER_KEY_TYPE,
]);

/** Caches that tell which object a Secret belongs to. */
export type Listed = {
  readonly [Kind in 'deployments' | 'revisions' | 'destinations']: Pick<Caches[Kind], 'list'>;
};

/**
 * True when a Secret belongs to the platform: the credentials of a destination, or a Secret that a
 * deployment, one of its revisions or its build got from the platform. Its immutable type decides, or the
 * object that names it; labels could be removed. Credentials of a destination that a person keeps in a Secret
 * of their own may be given to agents as well.
 */
export function isSecretOfPlatform(
  { metadata, type = '' }: Secret,
  deployment: AgentDeployment,
  caches: Listed,
): boolean {
  const { name, namespace = '' } = metadata;
  return (
    TYPES.has(type) ||
    isTokenOfListener({ metadata, type }) ||
    isOfAnother(metadata, deployment) ||
    (isMadeForDestination(metadata) &&
      caches.destinations.list(namespace).some(({ spec }) => spec.credentialsSecretRef?.name === name)) ||
    isSecretName(name, namespace, caches)
  );
}

/** True for a Secret of an earlier version of the platform, which gave such Secrets no type of their own. */
function isMadeForDestination({ labels = {}, ownerReferences = [] }: Secret['metadata']): boolean {
  return (
    labels[LABEL.component] === 'destination-credentials' ||
    ownerReferences.some(({ kind }) => kind === RESOURCES.BulkExportDestination.kind)
  );
}

/** Values that were given to another deployment, or made for a resource that is gone. */
function isOfAnother({ ownerReferences = [] }: Secret['metadata'], { metadata }: AgentDeployment): boolean {
  return ownerReferences.some(({ apiVersion, uid }) => apiVersion === API_VERSION && uid !== metadata.uid);
}

/** A token of a listener's account that does not end, which the platform never makes: its pod may write workloads. */
function isTokenOfListener({ metadata, type }: Pick<Secret, 'metadata' | 'type'>): boolean {
  const account = metadata.annotations?.['kubernetes.io/service-account.name'] ?? '';
  return type === 'kubernetes.io/service-account-token' && account.startsWith(listenerObjectName(''));
}
