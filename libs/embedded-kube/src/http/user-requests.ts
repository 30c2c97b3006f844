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
  /** That each may have beyond `mostOfAll`: those who come last are not refused because of those before. */
  readonly leastOfEach?: number;
  /** Beyond `mostOfAll`, for those who have fewer than `leastOfEach`; default any number. */
  readonly keptForLeast?: number;
}

/** Words of a refusal. */
interface Counted {
  /** What is counted. */
  readonly what: string;
  /** Who all are; default all users. */
  readonly who?: string;
}

/** Whose request it is. */
export interface Share {
  readonly holder: string;
  /** Of this holder, where that is not what each may have. */
  readonly most?: number;
}

/**
 * Requests of each user that are under way, watches included: each has a connection, and one that gets answers is not cut
 * for a new one. A user who fills its share is refused, and leaves the others to those who come after. The platform's own
 * programs (`system:masters`) are not counted, and all others together leave them a part.
 */
export class UserRequests {
  readonly #underWay = new Map<string, number>();
  #all = 0;

  constructor(
    private readonly limits: UserLimits,
    private readonly counted: Counted,
  ) {}

  get isEmpty(): boolean {
    return this.#all === 0;
  }

  /**
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal, share: Share = { holder: holderOf(user) }): void {
    if (user.groups.includes(MASTERS) || ended.aborted) return;
    const { mostOfAll, leastOfEach = 0, keptForLeast = Infinity } = this.limits;
    const { holder, most = this.limits.most } = share;
    const count = this.#underWay.get(holder) ?? 0;
    if (count >= most) throw this.#tooMany(`${holder} has ${count}`);
    const places = count < leastOfEach ? mostOfAll + keptForLeast : mostOfAll;
    if (this.#all >= places)
      throw this.#tooMany(`${this.counted.who ?? 'all users'} together have ${this.#all}`);
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
      `${who} ${this.counted.what}, which is the most; end some, or ask again later`,
      { retryAfterSeconds: 1 },
    );
  }
}
