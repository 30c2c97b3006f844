import { createHash } from 'node:crypto';
import { type AgentDeployment, ANNOTATION, type ObjectMeta, type Pod } from '#lib/resources';
import { urlHost } from '#lib/url';
import type { AddressMode } from './pod-placement.js';

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

const LOOPBACK = '127.0.0.1';

/** The part of a Service that an address needs. */
export interface Addressable {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly ports?: readonly { readonly port: number }[] };
}

/**
 * URL under which a Service is called, without a slash at its end; undefined on loopback until the node has given it a
 * port. A Service with several ports is called on its first.
 */
export function addressOf(service: Addressable, mode: AddressMode): string | undefined {
  const port = service.spec?.ports?.[0]?.port ?? 80;
  if (mode === 'cluster-dns') {
    const { name, namespace = 'default' } = service.metadata;
    return `http://${name}.${namespace}.svc${port === 80 ? '' : `:${port}`}`;
  }
  const noted = service.metadata.annotations?.[ANNOTATION.loopbackPort];
  const real = noted === undefined ? undefined : realPort(noted, port);
  return real === undefined ? undefined : `http://${LOOPBACK}:${real}`;
}

/**
 * True when a URL can be the result of `addressOf` for a Service. Statuses are texts of any of their writers,
 * and programs that follow them reach more of the network than those writers do.
 */
export function mayBeAddressOf(
  url: string,
  { name, namespace = 'default' }: Pick<ObjectMeta, 'name' | 'namespace'>,
  mode: AddressMode,
): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && hostname === (mode === 'loopback' ? LOOPBACK : `${name}.${namespace}.svc`);
}

/**
 * URL under which the agent server of a pod is called, past its Service and whether or not it is ready; undefined while
 * the pod has no address.
 */
export function podAddressOf({ metadata, spec, status }: Pod, mode: AddressMode): string | undefined {
  const ports = spec.containers.flatMap((container) => container.ports ?? []);
  const port = ports.find(({ name }) => name === 'http')?.containerPort;
  if (port === undefined) return undefined;
  if (mode === 'loopback') {
    const real = realPort(metadata.annotations?.[ANNOTATION.loopbackPorts] ?? '', port);
    return real === undefined ? undefined : `http://${LOOPBACK}:${real}`;
  }
  const ip = status?.podIP;
  if (ip === undefined) return undefined;
  return `http://${urlHost(ip)}:${port}`;
}

/** The annotation holds a number, or JSON from port to real port. */
function realPort(noted: string, port: number): number | undefined {
  if (/^\d+$/.test(noted)) return Number(noted);
  try {
    const ports: unknown = JSON.parse(noted);
    const found = typeof ports === 'object' && ports !== null ? Reflect.get(ports, String(port)) : undefined;
    return typeof found === 'number' ? found : undefined;
  } catch {
    return undefined;
  }
}
