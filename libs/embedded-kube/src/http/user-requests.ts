import { Admission } from '#lib/admission';
import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):/;

/**
 * Holder of a user's share. All service accounts of a namespace have one share: an author of one can make
 * others.
 */
export function holderOf({ username }: Pick<UserInfo, 'username'>): string {
  const namespace = SERVICE_ACCOUNT.exec(username)?.[1];
  return namespace === undefined ? username : `system:serviceaccounts:${namespace}`;
}

export interface UserLimits {
  /** Limit per user, or for the service accounts of one namespace. */
  readonly most: number;
  /** Limit for all users together. */
  readonly mostOfAll: number;
  /** Minimum per user beyond `mostOfAll`: late users are not refused because of earlier ones. */
  readonly leastOfEach?: number;
  /** Beyond `mostOfAll`, for those who have fewer than `leastOfEach`; default any number. */
  readonly keptForLeast?: number;
}

/** Words of a refusal. */
interface Counted {
  /** Name of the counted things. */
  readonly what: string;
  /** Name of the group of all users; default all users. */
  readonly who?: string;
}

/** Holder of a request, and its limit. */
export interface Share {
  readonly holder: string;
  /** Limit of this holder, where it differs from the common one. */
  readonly most?: number;
}

/**
 * Requests in flight of each user, watches included: each has a connection, and one that gets answers is not
 * cut for a new one. A user who fills its share is refused, and leaves the others to later users. The
 * platform's own programs (`system:masters`) are not counted, and all others together leave them a part.
 */
export class UserRequests {
  readonly #admission: Admission;

  constructor(
    private readonly limits: UserLimits,
    private readonly counted: Counted,
  ) {
    const { most, mostOfAll, leastOfEach = 0, keptForLeast = Infinity } = limits;
    this.#admission = new Admission({
      capacity: mostOfAll,
      perOwner: most,
      reserve: { perOwner: leastOfEach, units: keptForLeast },
    });
  }

  get isEmpty(): boolean {
    return this.#admission.held === 0;
  }

  /**
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin(user: UserInfo, ended: AbortSignal, share: Share = { holder: holderOf(user) }): void {
    if (user.groups.includes(MASTERS) || ended.aborted) return;
    const place = this.#admission.tryEnter(share.holder, 1, share.most);
    if (!place) throw this.#tooMany(share);
    ended.addEventListener('abort', place.release, { once: true });
  }

  #tooMany({ holder, most = this.limits.most }: Share): ApiError {
    const own = this.#admission.heldBy(holder);
    const who =
      own >= most
        ? `${holder} has ${own}`
        : `${this.counted.who ?? 'all users'} together have ${this.#admission.held}`;
    return new ApiError(
      429,
      'TooManyRequests',
      `${who} ${this.counted.what}, which is the most; end some, or ask again later`,
      { retryAfterSeconds: 1 },
    );
  }
}
