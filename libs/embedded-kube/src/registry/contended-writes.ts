import { ApiError } from '#lib/kube-semantics';
import { MASTERS, type UserInfo } from '../authn/user.js';
import { holderOf } from '../http/user-requests.js';

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
