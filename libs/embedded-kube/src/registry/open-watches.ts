import type { UserInfo } from '../authn/user.js';
import { WATCH_LIMITS } from '../http/pot-limits.js';
import { type FindListeners, RequestPots } from '../http/request-pots.js';
import { UserRequests, type UserLimits } from '../http/user-requests.js';

/**
 * Limit for all watches of one namespace: people, and accounts of any namespace. None of them can take all of
 * it.
 */
const OF_NAMESPACE: UserLimits = {
  ...WATCH_LIMITS.users,
  mostOfAll: 300,
  keptForLeast: Infinity,
};

const what = 'watches open';

/**
 * Watches that are open. Nodes, the proxy of Services and listeners have places apart from those of users, who could leave
 * them blind.
 */
export class OpenWatches {
  readonly #pots: RequestPots;
  readonly #namespaces = new Map<string, UserRequests>();

  constructor(findListeners: FindListeners) {
    this.#pots = new RequestPots(WATCH_LIMITS, what, findListeners);
  }

  /**
   * @param namespace that is watched; empty for all
   * @param ended aborted once the watch has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, namespace: string, ended: AbortSignal): void {
    if (ended.aborted) return;
    const admitted = new AbortController();
    const pot = this.#pots.begin(user, admitted.signal);
    ended.addEventListener('abort', () => admitted.abort(), { once: true });
    try {
      if (pot === 'users' && namespace !== '') this.#enter(user, namespace, ended);
    } catch (error) {
      admitted.abort(); // one that is refused has no place
      throw error;
    }
  }

  #enter(user: UserInfo, namespace: string, ended: AbortSignal): void {
    const requests =
      this.#namespaces.get(namespace) ??
      new UserRequests(OF_NAMESPACE, { what, who: `the users who watch namespace ${namespace}` });
    requests.begin(user, ended);
    if (requests.isEmpty) return; // watches of the platform are not counted
    this.#namespaces.set(namespace, requests);
    ended.addEventListener('abort', () => void (requests.isEmpty && this.#namespaces.delete(namespace)), {
      once: true,
    });
  }
}
