import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):/;

/** Whoever makes one account of a namespace makes others: all of them have one share. */
export function holderOf({ username }: Pick<UserInfo, 'username'>): string {
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}

export interface UserLimits {
  /** Of one user, or of the service accounts of one namespace, at once. */
  readonly most: number;
  /** Of all users together. */
  readonly mostOfAll: number;
  /** What is counted, for the refusal. */
  readonly what: string;
}

/**
 * Requests of each user that are under way, watches included: each has a connection, and one that gets answers is not cut
 * for a new one. A user who fills its share is refused, and leaves the others to those who come after. The platform's own
 * programs (`system:masters`) are not counted, and all others together leave them a part.
 */
export class UserRequests {
  readonly #underWay = new Map<string, number>();
  #all = 0;

  constructor(private readonly limits: UserLimits) {}

  /**
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal): void {
    if (user.groups.includes(MASTERS) || ended.aborted) return;
    const { most, mostOfAll } = this.limits;
    const holder = holderOf(user);
    const count = this.#underWay.get(holder) ?? 0;
    if (count >= most) throw this.#tooMany(`${holder} has ${count}`);
    if (this.#all >= mostOfAll) throw this.#tooMany(`all users together have ${this.#all}`);
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

  #tooMany(who: string): ApiError {
    return new ApiError(
      429,
      'TooManyRequests',
      `${who} ${this.limits.what}, which is the most; end some, or ask again later`,
      { retryAfterSeconds: 1 },
    );
  }
}
