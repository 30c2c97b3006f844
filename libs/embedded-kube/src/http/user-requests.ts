import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):/;

/** Whoever makes one account of a namespace makes others: all of them have one share. */
export function holderOf({ username }: Pick<UserInfo, 'username'>): string {
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}

/**
 * Requests of each user that are under way, watches included: each has a connection, and one that gets answers is not cut
 * for a new one. A user who fills its share is refused, and leaves the others to those who come after. The platform's own
 * programs (`system:masters`) are not counted, and all others together leave them a part.
 */
export class UserRequests {
  readonly #most: number;
  readonly #mostOfAll: number;
  readonly #underWay = new Map<string, number>();
  #all = 0;

  /**
   * @param most of one user, or of the service accounts of one namespace, at once
   * @param mostOfAll of all users together
   */
  constructor(most: number, mostOfAll: number) {
    this.#most = most;
    this.#mostOfAll = mostOfAll;
  }

  /**
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal): void {
    if (user.groups.includes(MASTERS) || ended.aborted) return;
    const holder = holderOf(user);
    const count = this.#underWay.get(holder) ?? 0;
    if (count >= this.#most) throw tooMany(`${holder} has ${count}`);
    if (this.#all >= this.#mostOfAll) throw tooMany(`all users together have ${this.#all}`);
    this.#all++;
    this.#underWay.set(holder, count + 1);
    ended.addEventListener('abort', () => this.#end(holder), { once: true });
  }

  #end(holder: string): void {
    this.#all--;
    const count = (this.#underWay.get(holder) ?? 0) - 1;
    if (count > 0) this.#underWay.set(holder, count);
    else this.#underWay.delete(holder);
  }
}

function tooMany(who: string): ApiError {
  return new ApiError(
    429,
    'TooManyRequests',
    `${who} requests and watches under way, which is the most; end some, or ask again later`,
    { retryAfterSeconds: 1 },
  );
}
