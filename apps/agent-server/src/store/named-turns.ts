import { PublicError } from '#lib/errors';

/** Of one name; a request more is refused. */
const MAX_WAITING = 1_000;

/** Has what bears the same name wait its turn, first come first served; different names never wait for one another. */
export class NamedTurns {
  readonly #queues = new Map<string, { last: Promise<unknown>; length: number }>();

  /** @throws PublicError `unavailable` when too many wait already */
  async take<T>(name: string, action: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name) ?? { last: Promise.resolve(), length: 0 };
    if (queue.length > MAX_WAITING)
      throw new PublicError('unavailable', `${name}: ${MAX_WAITING} requests wait for their turn; retry`);
    this.#queues.set(name, queue);
    queue.length += 1;
    const turn = queue.last.then(action).finally(() => {
      queue.length -= 1;
      if (queue.length === 0) this.#queues.delete(name);
    });
    queue.last = turn.catch(() => undefined);
    return turn;
  }
}
