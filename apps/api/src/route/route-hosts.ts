import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Admission, type AdmissionLimits } from '#lib/admission';
import { answerDetail, asksToUpgrade, upgradeAnswer, whenExchangeEnds } from '#lib/http';
import { type ServicePort, ServiceWay, type WrittenHeaders } from '#lib/service-front';
import type { Clock } from '#lib/time';
import { type AgentRoutes, type RouteTarget, serviceLookup } from './agent-routes.js';
import { BlockList, isIP } from 'node:net';

type Asked = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean };
};

/**
 * The `X-Forwarded-…` headers that tell agents about their clients: facts that the platform saw, in place of
 * those that clients wrote. Behind trusted proxies, the client is the first address from the right that is
 * not a proxy's.
 */
export class ClientWords {
  readonly #trusted: BlockList | undefined;

  /** @param proxies addresses and networks, as of AGENTPLANE_TRUSTED_PROXIES */
  constructor(proxies: readonly string[] | undefined) {
    this.#trusted = proxies && listOf(proxies);
  }

  headersOf({ headers, socket }: Asked): WrittenHeaders {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const own = {
      'x-forwarded-for': peer === '' ? undefined : peer,
      'x-forwarded-proto': socket.encrypted ? 'https' : 'http',
      'x-forwarded-host': headers.host,
      'x-forwarded-prefix': undefined,
      forwarded: undefined,
    };
    if (!this.#isTrusted(peer)) return own;
    const word = (name: keyof typeof own): string | undefined => textOf(headers[name]) ?? own[name];
    return {
      ...own,
      'x-forwarded-for': this.#clientOf(headers, peer),
      'x-forwarded-proto': word('x-forwarded-proto'),
      'x-forwarded-host': word('x-forwarded-host'),
      'x-forwarded-prefix': word('x-forwarded-prefix'),
    };
  }

  #clientOf(headers: IncomingMessage['headers'], peer: string): string {
    let client = peer;
    for (const word of (textOf(headers['x-forwarded-for']) ?? '').split(',').reverse()) {
      const address = plainAddress(word.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!this.#isTrusted(address)) break;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted?.check(address, family === 6 ? 'ipv6' : 'ipv4') === true;
  }
}

function listOf(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** An address of IPv4 may come mapped into one of IPv6. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Refusal of a request to a deployment. */
interface Refusal {
  readonly status: 404 | 503 | 508;
  readonly detail: string;
}

const LOOP: Refusal = {
  status: 508,
  detail: 'The request was led to deployments five times: their Services may lead back to the platform',
};

/** Requests and changed protocols on their way to deployments, of all and of one namespace. */
type RoutedLimits = Pick<AdmissionLimits, 'capacity' | 'perOwner'>;

/**
 * Fewer than the connections that may be open: an agent decides how long its answers last, and the api itself is asked on
 * the others.
 */
const ROUTED_LIMITS: RoutedLimits = { capacity: 3_000, perOwner: 1_000 };

/**
 * Hands requests whose host belongs to a deployment on to its Service, before anything of the api sees them;
 * a host below the domains of routes never reaches the api itself. Until it follows routes, no host is
 * routed.
 */
export class RouteHosts {
  readonly #way: ServiceWay;
  readonly #open: Admission;
  readonly #words: ClientWords;
  #routes: Pick<AgentRoutes, 'find'> | undefined;
  readonly #answers = new Set<ServerResponse>();
  readonly #upgraded = new Set<Duplex>();
  #isDraining = false;

  /** @param proxies whose headers about clients are trusted */
  constructor(clock: Clock, proxies?: readonly string[], limits: RoutedLimits = ROUTED_LIMITS) {
    this.#words = new ClientWords(proxies);
    this.#way = new ServiceWay({ clock, lookup: serviceLookup() });
    this.#open = new Admission(limits);
  }

  follow(routes: Pick<AgentRoutes, 'find'>): void {
    this.#routes = routes;
  }

  /** True when `upgrade` takes the request. */
  mayUpgrade(incoming: IncomingMessage): boolean {
    return asksToUpgrade(incoming) && this.#routes?.find(incoming.headers.host) !== undefined;
  }

  /** @returns whether the request was one for a deployment, and is answered */
  take(incoming: IncomingMessage, response: ServerResponse): boolean {
    const target = this.#routes?.find(incoming.headers.host);
    if (!target) return false;
    if (this.#isDraining) response.shouldKeepAlive = false;
    const to = this.#enter(incoming, target);
    if ('leave' in to) {
      this.#answers.add(response);
      whenExchangeEnds(incoming, response, () => {
        this.#answers.delete(response);
        to.leave();
      });
      this.#way.request(incoming, response, to.port, this.#written(incoming));
    } else answerDetail(response, to.status, to.detail);
    return true;
  }

  #enter(incoming: IncomingMessage, target: RouteTarget): Entered | Refusal {
    return hopsOf(incoming) < MOST_HOPS ? enter(target, this.#open) : LOOP;
  }

  #written(incoming: IncomingMessage): WrittenHeaders {
    return { ...this.#words.headersOf(incoming), [HOPS]: String(hopsOf(incoming) + 1) };
  }

  /** Takes requests to change the protocol; of routed hosts alone (`mayUpgrade`). */
  upgrade(incoming: IncomingMessage, client: Duplex, head: Buffer): void {
    const response = upgradeAnswer(incoming);
    if (!response) return;
    const target = this.#routes?.find(incoming.headers.host);
    const to = target ? this.#enter(incoming, target) : ({ status: 404, detail: 'Not Found' } as const);
    if (!('leave' in to)) return answerDetail(response, to.status, to.detail);
    this.#upgraded.add(client);
    client.once('close', () => {
      this.#upgraded.delete(client);
      to.leave();
    });
    this.#way.upgrade(incoming, response, head, to.port, this.#written(incoming));
  }

  /** Lets each connection end with its answer from now on, those in progress included. */
  beginDrain(): void {
    this.#isDraining = true;
    for (const response of this.#answers) response.shouldKeepAlive = false;
  }

  /** Ends connections that changed the protocol: their end is unknown, and the server waits for them. */
  endUpgraded(): void {
    for (const client of this.#upgraded) client.destroy();
  }
}

/**
 * Header that counts how often a request has been routed to a deployment; clients can only increase it.
 * Graphs are shown headers with x-.
 */
const HOPS = 'agentplane-hops';
/** Agents may ask one another by their hosts. More is a Service that leads back to the api, a thousand times a request. */
const MOST_HOPS = 5;

function hopsOf({ headers }: IncomingMessage): number {
  const hops = headers[HOPS];
  return typeof hops === 'string' && /^\d{1,3}$/.test(hops) ? Number(hops) : 0;
}

/** The way to a deployment, and a function that releases its place. */
interface Entered {
  readonly port: ServicePort;
  readonly leave: () => void;
}

function enter(target: RouteTarget, open: Admission): Entered | Refusal {
  if (target.kind === 'none') return { status: 404, detail: `No deployment has the host ${target.host}` };
  const { name, namespace = '' } = target.deployment.metadata;
  if (target.kind === 'elsewhere')
    return { status: 404, detail: `Deployment ${name} runs in another cluster, where it has an address` };
  if (target.address === undefined) return { status: 503, detail: `Deployment ${name} does not serve yet` };
  const place = open.tryEnter(namespace);
  if (!place)
    return { status: 503, detail: 'As many requests to deployments are open as may be; retry in a moment' };
  const { hostname: host, port } = new URL(target.address);
  return { leave: place.release, port: { name: `${namespace}/${name}`, host, port: Number(port || 80) } };
}
