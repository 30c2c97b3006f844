import { type AgentDeployment, dnsLabel } from '#lib/resources';

/** Domains below which hosts lead to deployments, in lower case; the first has the assigned ones. */
export type RouteDomains = readonly string[];

type Routed = Pick<AgentDeployment, 'metadata' | 'spec'>;

/**
 * The host by which a deployment is reached: that of its `customUrl`, and for one from git the assigned one,
 * `NAME--NAMESPACE` below the first domain. Undefined for one without, and for a host that is outside of the domains: it
 * may be the platform's own.
 */
export function routeHostOf({ metadata, spec }: Routed, domains: RouteDomains): string | undefined {
  const [domain] = domains;
  if (domain === undefined) return undefined;
  if (spec.source === 'git_host') {
    return `${dnsLabel(`${metadata.name}--${metadata.namespace ?? ''}`)}.${domain}`;
  }
  const { customUrl } = spec.sourceConfig;
  if (customUrl === undefined || !URL.canParse(customUrl)) return undefined;
  const { hostname } = new URL(customUrl);
  return isBelow(hostname, domains) ? hostname : undefined;
}

/** Whether a host name lies below one of the domains. */
export function isBelow(host: string, domains: RouteDomains): boolean {
  return domains.some((domain) => host.endsWith(`.${domain}`) && host.length > domain.length + 1);
}
