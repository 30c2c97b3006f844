import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';
import { type FindListeners, RequestPots, WATCH_LIMITS } from '../http/request-pots.js';
import { holderOf, type UserLimits, UserRequests } from '../http/user-requests.js';

/** Limit per user: clients that write one object at once are rare, and conflict anyway. */
const MAX_WAITING = 32;

/**
 * Writes of each user that wait for another one of theirs to the same object. Such a write is decided only
 * when the object is free, outside the fair queue: without the limit, a thousand that wait for one object
 * would do unaccounted work.
 */
export class ContendedWrites {
  /** Writes in flight, by holder and object. */
  readonly #underWay = new Map<string, Map<string, number>>();

  constructor(private readonly maxWaiting = MAX_WAITING) {}

  /**
   * Performs a write of a user to an object.
   * @param object equal for the writes of one object
   * @throws ApiError 429 when too many of the user wait already
   */
  async perform<T>(user: UserInfo, object: string, write: () => Promise<T>): Promise<T> {
    if (user.groups.includes(MASTERS)) return write();
    const holder = holderOf(user);
    const objects = this.#underWay.get(holder) ?? new Map<string, number>();
    const before = objects.get(object) ?? 0;
    if (before > 0 && waiting(objects) >= this.maxWaiting)
      throw new ApiError(
        429,
        'TooManyRequests',
        `${holder} has ${waiting(objects)} writes that wait for others to the same objects, which is the most; send them one after another`,
        { retryAfterSeconds: 1 },
      );
    objects.set(object, before + 1);
    this.#underWay.set(holder, objects);
    try {
      return await write();
    } finally {
      const left = (objects.get(object) ?? 0) - 1;
      if (left > 0) objects.set(object, left);
      else objects.delete(object);
      if (objects.size === 0) this.#underWay.delete(holder);
    }
  }
}

/** The first write of each object waits for nothing. */
function waiting(objects: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of objects.values()) sum += count - 1;
  return sum;
}

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
