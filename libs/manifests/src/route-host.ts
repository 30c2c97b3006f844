import { createHash } from 'node:crypto';
import type { AgentDeployment } from '#lib/resources';

/** Domains below which hosts lead to deployments, in lower case; the first has the assigned ones. */
export type RouteDomains = readonly string[];

type Routed = Pick<AgentDeployment, 'metadata' | 'spec'>;

/** Of one word of a host name. */
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
  const { customUrl } = spec.sourceConfig;
  if (customUrl === undefined || !URL.canParse(customUrl)) return undefined;
  const { hostname } = new URL(customUrl);
  return isBelow(hostname, domains) && !mayBeAssigned(hostname, domains) ? hostname : undefined;
}

/** Whether a host name lies below one of the domains. */
export function isBelow(host: string, domains: RouteDomains): boolean {
  return domains.some((domain) => host.endsWith(`.${domain}`) && host.length > domain.length + 1);
}

/** Whether a host has the form of assigned ones: their deployments need not exist yet for callers to know them. */
export function mayBeAssigned(host: string, [domain]: RouteDomains): boolean {
  if (domain === undefined || !host.endsWith(`.${domain}`)) return false;
  const label = host.slice(0, -domain.length - 1);
  return !label.includes('.') && (label.includes('--') || label.length === MAX_LABEL);
}

/** Only one that was cut is as long as may be; nobody finds another deployment with the same hash. */
function assignedLabel({ name, namespace = '' }: AgentDeployment['metadata']): string {
  const whole = `${name}--${namespace}`;
  if (whole.length < MAX_LABEL) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_DIGITS);
  return `${whole.slice(0, MAX_LABEL - HASH_DIGITS - 1)}-${hash}`;
}
