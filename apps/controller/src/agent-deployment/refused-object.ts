import {
  isClaimName,
  isReservedClaimName,
  isReservedSecretName,
  isSecretName,
  MAX_NAMED_SECRETS,
  type RefusedObject,
} from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  databaseSecretName,
  namedByPodSpec,
  platformSecretName,
  type ResourceSpec,
  type Secret,
} from '#lib/resources';
import { judgedReferences, judgedSpecs } from './judged-specs.js';
import { isSecretOfPlatform, type Listed } from './platform-secrets.js';

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
