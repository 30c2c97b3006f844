import { SERVICE_PROXY, type UserInfo } from '../authn/user.js';
import { nodeOf } from '../authn/node-user.js';
import type { PotLimits } from './pot-limits.js';
import { holderOf, type Share, UserRequests } from './user-requests.js';

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
