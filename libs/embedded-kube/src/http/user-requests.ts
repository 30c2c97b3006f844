import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';

/**
 * Requests of each user that are under way, watches included: each has a connection, and one that gets answers is not cut
 * for a new one. A user who fills its share is refused, and leaves the others to those who come after. The platform's own
 * programs (`system:masters`) are not counted.
 */
export class UserRequests {
  readonly #most: number;
  readonly #underWay = new Map<string, number>();

  /** @param most of one user at once */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * @param ended aborted once the request has ended
   * @throws ApiError 429
   */
  begin({ username, groups }: UserInfo, ended: AbortSignal): void {
    if (groups.includes(MASTERS) || ended.aborted) return;
    const count = this.#underWay.get(username) ?? 0;
    if (count >= this.#most)
      throw new ApiError(
        429,
        'TooManyRequests',
        `${username} has ${count} requests and watches under way, which is the most; end some, or ask again later`,
        { retryAfterSeconds: 1 },
      );
    this.#underWay.set(username, count + 1);
    ended.addEventListener('abort', () => this.#end(username), { once: true });
  }

  #end(username: string): void {
    const count = (this.#underWay.get(username) ?? 0) - 1;
    if (count > 0) this.#underWay.set(username, count);
    else this.#underWay.delete(username);
  }
}
