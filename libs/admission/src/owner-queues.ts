/**
 * One queue for each owner, served round-robin: an owner with a long queue delays the others by one item at a time. The
 * caller decides which item is served and when.
 */
export class OwnerQueues<Owner, Item> {
  /** Holds no empty queue. The owner served longest ago comes first. */
  readonly #queues = new Map<Owner, Item[]>();

  get isEmpty(): boolean {
    return this.#queues.size === 0;
  }

  lengthOf(owner: Owner): number {
    return this.#queues.get(owner)?.length ?? 0;
  }

  first(owner: Owner): Item | undefined {
    return this.#queues.get(owner)?.[0];
  }

  /**
   * The next item of each queue, beginning with the owner served longest ago. An owner served during the iteration comes
   * again at its end.
   */
  *firsts(): IterableIterator<readonly [owner: Owner, first: Item]> {
    for (const [owner, [first]] of this.#queues) if (first !== undefined) yield [owner, first];
  }

  join(owner: Owner, item: Item): void {
    const queue = this.#queues.get(owner);
    if (queue) queue.push(item);
    else this.#queues.set(owner, [item]);
  }

  /** Takes the first item out of a queue and moves the queue behind all others. */
  serve(owner: Owner): Item | undefined {
    const queue = this.#queues.get(owner);
    const first = queue?.shift();
    this.#queues.delete(owner);
    if (queue && queue.length > 0) this.#queues.set(owner, queue);
    return first;
  }

  /** @returns false when the item was served already */
  leave(owner: Owner, item: Item): boolean {
    const queue = this.#queues.get(owner) ?? [];
    const at = queue.indexOf(item);
    if (at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(owner);
    return true;
  }
}
