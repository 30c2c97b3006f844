import { isJsonObject } from '#lib/json';
import {
  type AgentDeployment,
  type AgentRevision,
  databaseServerName,
  deploymentSecretNames,
  revisionBuildName,
} from '#lib/resources';

/** Secret of a workspace's namespace with its git integrations, one a key: the id, and JSON as `GitIntegration`. */
export const GIT_INTEGRATIONS = 'git-integrations';

/** Credentials of the platform for a git host. */
export interface GitIntegration {
  readonly name: string;
  /** `github.com`, `git.example.org:8443`: the only host that gets the token. */
  readonly host: string;
  readonly username?: string;
  readonly token: string;
  /** PEM of a certificate that the host is trusted by, beside those of Node. */
  readonly ca?: string;
  /** Secret with which its host signs pushes; absent: no pushes are accepted from it. */
  readonly webhookSecret?: string;
}

/** One value of the Secret; undefined when it is no integration. */
export function parseGitIntegration(base64: string): GitIntegration | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { name, host, username, token, ca, webhookSecret } = value;
  if (typeof name !== 'string' || typeof host !== 'string' || typeof token !== 'string') return undefined;
  return {
    name,
    host,
    token,
    ...(typeof username === 'string' ? { username } : {}),
    ...(typeof ca === 'string' ? { ca } : {}),
    ...(typeof webhookSecret === 'string' ? { webhookSecret } : {}),
  };
}

export function formatGitIntegration(integration: GitIntegration): string {
  return Buffer.from(JSON.stringify(integration), 'utf8').toString('base64');
}

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

/** Object that a deployment names for its pods and may not have. */
export type RefusedObject =
  | {
      readonly kind: 'Secret' | 'PersistentVolumeClaim';
      readonly name: string;
      /** `reserved`: by its name it may be the platform's; `missing`: so it may, once there is one. */
      readonly why: 'platform' | 'reserved' | 'missing';
    }
  | { readonly kind: 'too-many'; readonly count: number };

/** Each is read once a minute, as long as the deployment exists. */
export const MAX_NAMED_SECRETS = 100;

/** The refusal as a sentence, the same in a condition and in an answer. */
export function refusedObjectText(refused: RefusedObject): string {
  if (refused.kind === 'too-many')
    return `the resource spec names ${refused.count} Secrets; name ${MAX_NAMED_SECRETS} at most`;
  const { kind, name, why } = refused;
  switch (why) {
    case 'platform':
      return `${kind} ${name} belongs to the platform and is given to no agent; name a ${kind} of your own`;
    case 'reserved':
      return `the name ${name} is one that the platform gives to a ${kind} of its own; choose another`;
    case 'missing':
      return `Secret ${name} does not exist, and the platform gives such names to Secrets of its own; create it before a deployment names it, or choose another name`;
    default:
      return why satisfies never;
  }
}

/** Secrets that the pods of agents read, which a remote listener copies to its own cluster, and what it reaches the hub by. */
const WHERE_PODS_RUN = [/.-(platform|database)$/, /.-\d{5,}-env$/, /^listener-.+-hub$/];

/** Secrets that are beside the resources alone. */
const BESIDE_RESOURCES = [
  /.-postgres$/,
  /.-(\d{5,}|[0-9a-f]{8})-build$/,
  /^listener-.+-key$/,
  // Secrets of destinations made by REST; the second part is present once the credentials were changed
  /.-credentials(-[0-9a-f]{8})?$/,
  new RegExp(`^${GIT_INTEGRATIONS}$`),
];

/**
 * True when the platform gives such names to Secrets of its own. A deployment that names one which does not
 * exist yet would have its pods read it from the day it is made: names of deployments and listeners can be
 * guessed, and chosen.
 * @param cluster the one of the resources, or another one, where pods of a remote listener run
 */
export function isReservedSecretName(name: string, cluster: 'home' | 'remote'): boolean {
  const reserved = cluster === 'home' ? [...WHERE_PODS_RUN, ...BESIDE_RESOURCES] : WHERE_PODS_RUN;
  return reserved.some((pattern) => pattern.test(name));
}

/**
 * True when the platform gives such names to the volumes of Postgres servers that deployments have of their
 * own.
 */
export function isReservedClaimName(name: string): boolean {
  return /.-postgres$/.test(name);
}
