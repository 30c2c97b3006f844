import { createHash } from 'node:crypto';
import type { AgentDeployment } from '#lib/resources';

/** Domains below which hosts lead to deployments, in lower case; the first has the assigned ones. */
export type RouteDomains = readonly string[];

type Routed = Pick<AgentDeployment, 'metadata' | 'spec'>;

/** Maximum length of one label of a host name. */
const MAX_LABEL = 63;
const HASH_DIGITS = 16;

/**
 * The host by which a deployment is reached: that of its `customUrl`, and for one from git the assigned one,
 * `NAME--NAMESPACE` below the first domain. Undefined for one without, for a host that is outside of the domains, which may
 * be the platform's own, and for one that may be assigned to another deployment.
 */
export function routeHostOf({ metadata, spec }: Routed, domains: RouteDomains): string | undefined {
  const [domain] = domains;
  if (domain === undefined) return undefined;
  if (spec.source === 'git_host') return `${assignedLabel(metadata)}.${domain}`;
  const host = customHostOf({ spec });
  return host !== undefined && isBelow(host, domains) && !mayBeAssigned(host, domains) ? host : undefined;
}

/** The host of a deployment's `customUrl`, below whichever domain. */
export function customHostOf({ spec }: Pick<AgentDeployment, 'spec'>): string | undefined {
  const { customUrl } = spec.sourceConfig;
  return customUrl === undefined || !URL.canParse(customUrl) ? undefined : new URL(customUrl).hostname;
}

/** True when a host name is below one of the domains. */
export function isBelow(host: string, domains: RouteDomains): boolean {
  return domains.some((domain) => host.endsWith(`.${domain}`) && host.length > domain.length + 1);
}

/**
 * True when a host has the form of assigned ones: their deployments need not exist yet for callers to know
 * them.
 */
export function mayBeAssigned(host: string, [domain]: RouteDomains): boolean {
  if (domain === undefined || !host.endsWith(`.${domain}`)) return false;
  const label = host.slice(0, -domain.length - 1);
  return !label.includes('.') && (label.includes('--') || label.length === MAX_LABEL);
}

/**
 * Label of an assigned host. Only one that was shortened has the maximum length; another deployment with the
 * same hash cannot be found. `a--b` in `c` would otherwise be `a` in `b--c`.
 */
function assignedLabel({ name, namespace = '' }: AgentDeployment['metadata']): string {
  const whole = `${name}--${namespace}`;
  const isPlain = ![name, namespace].some((part) => part.includes('--'));
  if (isPlain && whole.length < MAX_LABEL) return whole;
  const hashed = isPlain ? whole : `${name}/${namespace}`;
  const hash = createHash('sha256').update(hashed).digest('hex').slice(0, HASH_DIGITS);
  return `${whole.slice(0, MAX_LABEL - HASH_DIGITS - 1)}-${hash}`;
}
