import { GIT_INTEGRATIONS } from './git-integrations.js';

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
