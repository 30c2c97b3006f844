import { PublicError } from '#lib/errors';
import type { Informer } from '#lib/kube';
import {
  type AddressMode,
  isBelow,
  mayBeAddressOf,
  mayBeAssigned,
  routeHostOf,
  type RouteDomains,
} from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  isDeleting,
  type Listener,
  type ObjectKey,
} from '#lib/resources';
import type { ApiConfig } from '../config.js';
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { AddressGuard, type Resolve } from '#lib/outbound';
import { wrongField } from '../wire/request-pipe.js';

const HOST_INDEX = 'route-host';

/** Address of the routes: the parts before and after the host in their URLs. */
export interface RoutePlace {
  readonly domains: RouteDomains;
  readonly addresses: AddressMode;
  readonly protocol: 'http' | 'https';
  /** Empty for the usual one. */
  readonly port: string;
}

/** @returns the place that clients reach: the public one, else TLS, else this machine's own */
export function routePlaceOf({
  routeDomains: domains,
  addresses,
  publicUrl,
  tlsCertificate,
  tlsPort,
  port,
}: Pick<
  ApiConfig,
  'routeDomains' | 'addresses' | 'publicUrl' | 'tlsCertificate' | 'tlsPort' | 'port'
>): RoutePlace {
  if (publicUrl !== undefined) {
    const { protocol, port: shown } = new URL(publicUrl);
    return { domains, addresses, protocol: protocol === 'https:' ? 'https' : 'http', port: shown };
  }
  if (tlsCertificate !== undefined)
    return { domains, addresses, protocol: 'https', port: tlsPort === 443 ? '' : String(tlsPort) };
  return { domains, addresses, protocol: 'http', port: port === 80 ? '' : String(port) };
}

/** Target of a host. */
export type RouteTarget =
  | {
      readonly kind: 'deployment';
      readonly deployment: AgentDeployment;
      /** Address of its Service; undefined before a revision serves. */
      readonly address: string | undefined;
    }
  /**
   * Another cluster carries it out: an address there is meaningless here, or belongs to another program, or
   * is a trap.
   */
  | { readonly kind: 'elsewhere'; readonly deployment: AgentDeployment }
  /** It is below one of the domains, and no deployment has it. */
  | { readonly kind: 'none'; readonly host: string };

/** Caches that routes follow. */
export interface RouteCaches {
  /** Informer that is not started yet. */
  readonly deployments: Pick<Informer<AgentDeployment>, 'byIndex' | 'addIndex'>;
  readonly revisions: Pick<Informer<AgentRevision>, 'find'>;
  readonly listeners: Pick<Informer<Listener>, 'find'>;
}

/** Map from hosts to deployments. */
export class AgentRoutes {
  readonly #caches: RouteCaches;
  readonly #place: RoutePlace;

  constructor(caches: RouteCaches, place: RoutePlace) {
    caches.deployments.addIndex(HOST_INDEX, (one) => {
      const host = routeHostOf(one, place.domains);
      return host === undefined ? [] : [host];
    });
    this.#caches = caches;
    this.#place = place;
  }

  /** @param header `Host` of a request; undefined for one that is the platform's own */
  find(header: string | undefined): RouteTarget | undefined {
    const host = (header ?? '').replace(/\.?(:\d*)?$/, '').toLowerCase();
    if (!isBelow(host, this.#place.domains)) return undefined;
    const deployment = this.#holderOf(host);
    return deployment ? this.targetOf(deployment) : { kind: 'none', host };
  }

  /** The way to a deployment, whatever its host. */
  targetOf(deployment: AgentDeployment): Exclude<RouteTarget, { kind: 'none' }> {
    const revision = this.#servingOf(deployment);
    if (revision && !this.#isOfHere(revision)) return { kind: 'elsewhere', deployment };
    return { kind: 'deployment', deployment, address: this.#addressOf(deployment, revision) };
  }

  /** URL of the assigned route of a deployment from git; undefined for every other. */
  assignedUrlOf(deployment: AgentDeployment): string | undefined {
    const host =
      deployment.spec.source === 'git_host' ? routeHostOf(deployment, this.#place.domains) : undefined;
    const { protocol, port } = this.#place;
    return host === undefined ? undefined : `${protocol}://${host}${port === '' ? '' : `:${port}`}`;
  }

  /**
   * @param own the deployment that is to have the URL, if it exists
   * @throws PublicError invalid for a host outside of the domains and for one of the form of assigned ones, conflict for one
   * that another deployment has
   */
  requireFree(customUrl: string | null | undefined, own?: ObjectKey): void {
    const { domains } = this.#place;
    if (customUrl === undefined || customUrl === null || domains.length === 0) return;
    const host = URL.canParse(customUrl) ? new URL(customUrl).hostname : '';
    if (!isBelow(host, domains)) throw refused(`Host should be below ${domains.join(' or ')}`);
    if (mayBeAssigned(host, domains))
      throw refused(
        'Host should be shorter and without "--": such hosts are assigned to deployments from git',
      );
    const holder = this.#holderOf(host)?.metadata;
    if (holder && !(holder.name === own?.name && holder.namespace === own.namespace))
      throw new PublicError('conflict', `custom_url: another deployment has the host ${host}`);
  }

  /**
   * The serving revision, whose address counts: the URL that the deployment itself reports may be the very
   * route.
   */
  #servingOf({ metadata: { namespace = '' }, status }: AgentDeployment): AgentRevision | undefined {
    const name = status?.activeRevisionName;
    return name === undefined ? undefined : this.#caches.revisions.find({ namespace, name });
  }

  /**
   * Address of the revision's Service; undefined also for anything but the deployment's own Service:
   * otherwise a user who may write statuses in a namespace could have the api read metadata services and
   * ports of others for any caller.
   */
  #addressOf({ metadata }: AgentDeployment, revision: AgentRevision | undefined): string | undefined {
    const url = revision?.status?.url;
    return url !== undefined && mayBeAddressOf(url, metadata, this.#place.addresses) ? url : undefined;
  }

  /** True for deployments of this cluster, also judged by the revision itself: it outlasts its listener. */
  #isOfHere({ metadata: { namespace = '' }, spec }: AgentRevision): boolean {
    const listener = this.#caches.listeners.find({ namespace, name: spec.listenerName });
    return spec.placeNamespace === undefined && listener?.spec.remote === undefined;
  }

  /**
   * The deployment to which the controller gave the host, even if others ask for it later: an older one of
   * another workspace may do so at any time. Until the controller has decided, the oldest that asks for it,
   * which the controller would choose.
   */
  #holderOf(host: string): AgentDeployment | undefined {
    const age = ({ metadata }: AgentDeployment): string =>
      `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
    const asking = this.#caches.deployments
      .byIndex(HOST_INDEX, host)
      .filter((one) => !isDeleting(one))
      .sort((a, b) => (age(a) < age(b) ? -1 : 1));
    return asking.find(({ status }) => status?.customHost === host) ?? asking[0];
  }
}

function refused(msg: string): PublicError {
  return wrongField(['body', 'source_config', 'custom_url'], msg);
}

/**
 * Finds the addresses of Services. A user who may change a Service can make it a name for something else
 * (`ExternalName`); addresses that give out the credentials of machines are never used.
 */
export function serviceLookup(resolve: Resolve = lookup): LookupFunction {
  return new AddressGuard({
    allowPrivate: true,
    refuse: () => new Error('the Service leads to a link-local, metadata, multicast or reserved address'),
    resolve,
  }).lookup;
}
