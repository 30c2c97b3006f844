import {
  isClaimName,
  isReservedClaimName,
  isReservedSecretName,
  isSecretName,
  MAX_NAMED_SECRETS,
  type RefusedObject,
  wantedResourceSpec,
} from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  API_VERSION,
  BUILD_LOGIN_TYPE,
  databaseSecretName,
  idOf,
  LABEL,
  LISTENER_KEY_TYPE,
  listenerObjectName,
  namedByPodSpec,
  platformSecretName,
  RESOURCES,
  type ResourceSpec,
  type Secret,
  SECRET_TYPE,
} from '#lib/resources';
import type { Caches } from '../caches.js';
import { isHandled } from './decide-revision.js';

interface JudgedDeployment {
  readonly deployment: AgentDeployment;
  readonly revisions: readonly AgentRevision[];
}

type Judged = Pick<AgentRevision['spec'], 'resourceSpec' | 'secretReferences'>;

/**
 * Specs from which the next revision may be made: the present one, and that of a revision to be redeployed.
 */
function judged({ deployment, revisions }: JudgedDeployment): readonly Judged[] {
  const from = deployment.spec.revisionRequest?.fromRevisionId?.toLowerCase();
  const repeated = isHandled(deployment, revisions)
    ? undefined
    : revisions.find((revision) => idOf(revision) === from);
  const resourceSpec = wantedResourceSpec(deployment.spec);
  const { secretReferences } = deployment.spec;
  const present = {
    ...(resourceSpec ? { resourceSpec } : {}),
    ...(secretReferences ? { secretReferences } : {}),
  };
  return [present, ...(repeated ? [repeated.spec] : [])];
}

/** Resource specs of the next revision. */
export function judgedSpecs(of: JudgedDeployment): readonly ResourceSpec[] {
  return judged(of).flatMap(({ resourceSpec }) => resourceSpec ?? []);
}

/** Secrets whose values become variables of the next revision. */
function judgedReferences(of: JudgedDeployment): readonly string[] {
  return judged(of).flatMap(({ secretReferences = [] }) =>
    secretReferences.map(({ secretName }) => secretName),
  );
}

const TYPES: ReadonlySet<string> = new Set([
  ...Object.values(SECRET_TYPE),
  BUILD_LOGIN_TYPE,
  LISTENER_KEY_TYPE,
]);

/** Caches that tell which object a Secret belongs to. */
type Listed = {
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

/** A deployment, and what is known of the objects that it may name. */
export interface NamingDeployment {
  readonly deployment: AgentDeployment;
  readonly revisions: readonly AgentRevision[];
  /** The Secret in its `secretsRef`, where it exists. */
  readonly variables: Secret | undefined;
  /** True when its pods run in another cluster, whose Secrets cannot be read here. */
  readonly isRemote: boolean;
  readonly caches: Listed;
  /** Secrets with logins of registries, by which nodes pull images and which containers never see. */
  readonly registrySecrets: readonly string[];
  readonly findSecret: (name: string) => Promise<Secret | undefined>;
}

/**
 * The first object that no pod of the deployment may have, among those that its variables and its resource spec name. An API
 * server gives a pod every Secret and every claim of its namespace, and who may write a deployment may not read these.
 */
export async function findRefusedObject(naming: NamingDeployment): Promise<RefusedObject | undefined> {
  const { deployment, variables } = naming;
  if (variables && isPlatforms(variables.metadata.name, variables, naming))
    return { kind: 'Secret', name: variables.metadata.name, why: 'platform' };
  const specs = judgedSpecs(naming).map(podSpec);
  const claims = specs.flatMap((spec) => namedByPodSpec(spec, 'persistentvolumeclaims'));
  const claim = claims.find((name) => isReservedClaimName(name));
  if (claim !== undefined) {
    const isKnown = isClaimName(claim, deployment.metadata.namespace ?? '', naming.caches);
    return { kind: 'PersistentVolumeClaim', name: claim, why: isKnown ? 'platform' : 'reserved' };
  }
  const secrets = new Set([
    ...specs.flatMap((spec) => namedByPodSpec(spec, 'secrets')),
    ...judgedReferences(naming),
  ]);
  if (secrets.size > MAX_NAMED_SECRETS) return { kind: 'too-many', count: secrets.size };
  for (const name of secrets) {
    const why = await judgeSecret(name, naming);
    if (why) return { kind: 'Secret', name, why };
  }
  return undefined;
}

async function judgeSecret(
  name: string,
  naming: NamingDeployment,
): Promise<'platform' | 'reserved' | 'missing' | undefined> {
  // its pods have these two already: a container that migrates the database needs the URI as well
  const own = naming.deployment.metadata.name;
  if ([platformSecretName(own), databaseSecretName(own)].includes(name)) return undefined;
  if (isPlatforms(name, undefined, naming)) return 'platform';
  if (naming.isRemote) return isReservedSecretName(name, 'remote') ? 'reserved' : undefined;
  const secret = await naming.findSecret(name);
  if (secret) return isPlatforms(name, secret, naming) ? 'platform' : undefined;
  return isReservedSecretName(name, 'home') ? 'missing' : undefined;
}

function isPlatforms(
  name: string,
  secret: Secret | undefined,
  { deployment, caches, registrySecrets }: NamingDeployment,
): boolean {
  return (
    registrySecrets.includes(name) ||
    isSecretName(name, deployment.metadata.namespace ?? '', caches) ||
    (secret !== undefined && isSecretOfPlatform(secret, deployment, caches))
  );
}

function podSpec({ volumes, initContainers, sidecars }: ResourceSpec): object {
  return { volumes, initContainers, containers: sidecars };
}
