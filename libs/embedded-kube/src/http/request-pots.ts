import { Admission } from '#lib/admission';
import { ApiError } from '#lib/kube-semantics';
import { MASTERS, nodeOf, SERVICE_PROXY, type UserInfo } from '../authn/user.js';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):/;

/**
 * Holder of a user's share. All service accounts of a namespace have one share: an author of one can make
 * others.
 */
export function holderOf({ username }: Pick<UserInfo, 'username'>): string {
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}

interface UserLimits {
  /** Limit per user, or for the service accounts of one namespace. */
  readonly most: number;
  /** Limit for all users together. */
  readonly mostOfAll: number;
  /** Minimum per user beyond `mostOfAll`: late users are not refused because of earlier ones. */
  readonly leastOfEach?: number;
  /** Beyond `mostOfAll`, for those who have fewer than `leastOfEach`. */
  readonly keptForLeast?: number;
}

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

/** Names of the groups in refusals. */
const ALL: Readonly<Record<Pot, string>> = {
  users: 'all users',
  nodes: 'all nodes',
  proxy: 'all users',
  listeners: 'all listeners',
};

/** Holder of a request, and its limit. */
interface Share {
  readonly pot: Pot;
  readonly holder: string;
  readonly most: number;
}

/**
 * Limits of requests, apart for nodes, the proxy of Services, listeners and users: requests of users never
 * take capacity that the platform needs, whatever their number, and each holder's minimum is guaranteed in
 * every group. A request in flight has a connection, and is not cut for a new one. The platform's own programs
 * (`system:masters`) are not counted, and all others together leave them a part.
 */
export class RequestPots {
  readonly #admissions: Readonly<Record<Pot, Admission>>;

  /** @param what is counted, for refusals */
  constructor(
    private readonly limits: PotLimits,
    private readonly what: string,
    private readonly findListeners: FindListeners,
  ) {
    const admissionOf = ({ most, mostOfAll, leastOfEach = 0, keptForLeast = 0 }: UserLimits): Admission =>
      new Admission({
        capacity: mostOfAll,
        perOwner: most,
        reserve: { perOwner: leastOfEach, units: keptForLeast },
      });
    this.#admissions = {
      users: admissionOf(limits.users),
      nodes: admissionOf(limits.nodes),
      proxy: admissionOf(limits.proxy),
      listeners: admissionOf(limits.listeners),
    };
  }

  /**
   * Counts the request.
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal): void {
    if (user.groups.includes(MASTERS) || ended.aborted) return;
    const share = this.#shareOf(user);
    const place = this.#admissions[share.pot].tryEnter(share.holder, 1, share.most);
    if (!place) throw this.#tooMany(share);
    ended.addEventListener('abort', place.release, { once: true });
  }

  #tooMany({ pot, holder, most }: Share): ApiError {
    const own = this.#admissions[pot].heldBy(holder);
    const who =
      own >= most ? `${holder} has ${own}` : `${ALL[pot]} together have ${this.#admissions[pot].held}`;
    return new ApiError(
      429,
      'TooManyRequests',
      `${who} ${this.what}, which is the most; end some, or ask again later`,
      { retryAfterSeconds: 1 },
    );
  }

  #shareOf(user: UserInfo): Share {
    const holder = holderOf(user);
    const { proxy, nodes, users, listeners } = this.limits;
    if (user.username === SERVICE_PROXY) return { pot: 'proxy', holder, most: proxy.most };
    if (nodeOf(user) !== undefined) return { pot: 'nodes', holder, most: nodes.most };
    const found = this.findListeners(user);
    if (!found) return { pot: 'users', holder, most: users.most };
    return {
      pot: 'listeners',
      holder: `the group of listeners in namespace ${found.namespace}`,
      most: Math.min(listeners.most, listeners.mostOfListener * found.count),
    };
  }
}
