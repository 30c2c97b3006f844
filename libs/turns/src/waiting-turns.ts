import { WaitingLines } from './waiting-lines.js';

/** Lines of those that wait for their turn. Whoever leaves its line is not held any more, and holds up nobody. */
export class WaitingTurns<Owner> {
  readonly #lines = new WaitingLines<Owner, () => void>();

  get isEmpty(): boolean {
    return this.#lines.isEmpty;
  }

  lengthOf(owner: Owner): number {
    return this.#lines.lengthOf(owner);
  }

  /** Those that wait, the one first that was served longest ago; one that is served on the way comes again at the end. */
  *owners(): IterableIterator<Owner> {
    for (const [owner] of this.#lines.firsts()) yield owner;
  }

  /**
   * Resolves once the turn has come.
   * @param left takes it out of its line; its reason is thrown then, but never once the turn has come
   */
  wait(owner: Owner, left?: AbortSignal): Promise<void> {
    if (left?.aborted) return Promise.reject(left.reason as Error);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (): void => {
      if (this.#lines.leave(owner, begin)) reject(left?.reason as Error);
    };
    const begin = (): void => {
      left?.removeEventListener('abort', leave);
      resolve();
    };
    left?.addEventListener('abort', leave, { once: true });
    this.#lines.join(owner, begin);
    return promise;
  }

  /** The turn of the first in a line has come. @returns whether there was one */
  begin(owner: Owner): boolean {
    const begin = this.#lines.serve(owner);
    begin?.();
    return begin !== undefined;
  }
}
