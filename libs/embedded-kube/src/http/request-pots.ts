import { nodeOf, SERVICE_PROXY, type UserInfo } from '../authn/user.js';
import { holderOf, type Share, type UserLimits, UserRequests } from './user-requests.js';

/** Maximum numbers of requests, or of watches among them, in flight at once. */
export interface PotLimits {
  readonly users: UserLimits;
  readonly nodes: UserLimits;
  readonly proxy: UserLimits;
  /** Limits of listeners; those of one namespace are one holder. */
  readonly listeners: UserLimits & {
    /** A namespace has as many for each of its Listeners, and `most` in all. */
    readonly mostOfListener: number;
  };
}

/** Each costs some 70 KB until its handshake is over; with its other servers this process stays far below its descriptors. */
export const MAX_CONNECTIONS = 4_000;

/** Limits of all connections. The rest is for the platform's own programs, which have no limit. */
const REQUESTS: PotLimits = {
  users: { most: 400, mostOfAll: 1_200, leastOfEach: 40, keptForLeast: 600 },
  nodes: { most: 300, mostOfAll: 400, leastOfEach: 40, keptForLeast: 200 },
  proxy: { most: 100, mostOfAll: 100 },
  listeners: { most: 260, mostOfListener: 60, mostOfAll: 900, leastOfEach: 40, keptForLeast: 300 },
};

/**
 * Limits of watches. Each change of a kind is offered to all of its watches, while all other requests wait. A
 * controller needs one a kind, a node one of its pods, a listener fewer than ten. Watches are requests too:
 * each limit is lower than that of requests, so that others remain possible.
 */
export const WATCH_LIMITS: PotLimits = {
  users: { most: 200, mostOfAll: 1_000, leastOfEach: 20, keptForLeast: 300 },
  nodes: { most: 200, mostOfAll: 300, leastOfEach: 20, keptForLeast: 100 },
  proxy: { most: 50, mostOfAll: 50 },
  listeners: { most: 160, mostOfListener: 24, mostOfAll: 700, leastOfEach: 20, keptForLeast: 200 },
};

/** @param connections that the server takes at once */
export function requestLimits(connections = MAX_CONNECTIONS): PotLimits {
  return scaled(REQUESTS, connections / MAX_CONNECTIONS);
}

/** A body comes as slowly as its sender likes: as many wait for one, of each holder and of all, as leave half to the rest. */
export function bodyLimits(connections = MAX_CONNECTIONS): PotLimits {
  return scaled(REQUESTS, connections / MAX_CONNECTIONS / 2);
}

function scaled({ users, nodes, proxy, listeners }: PotLimits, part: number): PotLimits {
  const times = ({ most, mostOfAll, leastOfEach = 0, keptForLeast = 0 }: UserLimits): UserLimits => ({
    most: Math.floor(most * part),
    mostOfAll: Math.floor(mostOfAll * part),
    leastOfEach: Math.floor(leastOfEach * part),
    keptForLeast: Math.floor(keptForLeast * part),
  });
  return {
    users: times(users),
    nodes: times(nodes),
    proxy: times(proxy),
    listeners: {
      ...times(listeners),
      mostOfListener: Math.floor(listeners.mostOfListener * part),
    },
  };
}

/** Groups of users with limits of their own. */
type Pot = keyof PotLimits;

/** The Listeners of a namespace, to whose accounts a user belongs. */
interface ListenersOfNamespace {
  readonly namespace: string;
  readonly count: number;
}

/** Says whether a user is the account of a Listener; undefined for every other user. */
export type FindListeners = (user: UserInfo) => ListenersOfNamespace | undefined;

/**
 * Limits of requests, apart for nodes, the proxy of Services, listeners and users: requests of users never
 * take capacity that the platform needs, whatever their number, and each holder's minimum is guaranteed in
 * every group.
 */
export class RequestPots {
  readonly #limits: PotLimits;
  readonly #findListeners: FindListeners;
  readonly #pots: Readonly<Record<Pot, UserRequests>>;

  /** @param what is counted, for refusals */
  constructor(limits: PotLimits, what: string, findListeners: FindListeners) {
    this.#limits = limits;
    this.#findListeners = findListeners;
    this.#pots = {
      users: new UserRequests(limits.users, { what }),
      nodes: new UserRequests(limits.nodes, { what, who: 'all nodes' }),
      proxy: new UserRequests(limits.proxy, { what }),
      listeners: new UserRequests(limits.listeners, { what, who: 'all listeners' }),
    };
  }

  /**
   * Counts the request and returns its group.
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal): Pot {
    const { pot, share } = this.#placeOf(user);
    this.#pots[pot].begin(user, ended, share);
    return pot;
  }

  #placeOf(user: UserInfo): { readonly pot: Pot; readonly share: Share } {
    const share = { holder: holderOf(user) };
    if (user.username === SERVICE_PROXY) return { pot: 'proxy', share };
    if (nodeOf(user) !== undefined) return { pot: 'nodes', share };
    const listeners = this.#findListeners(user);
    if (!listeners) return { pot: 'users', share };
    const { most, mostOfListener } = this.#limits.listeners;
    return {
      pot: 'listeners',
      share: {
        holder: `the group of listeners in namespace ${listeners.namespace}`,
        most: Math.min(most, mostOfListener * listeners.count),
      },
    };
  }
}
