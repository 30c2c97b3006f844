import type { Scope } from './scope.js';
import { Turns } from './turns.js';

/** Limit per caller and name. */
const MAX_WAITING = 1_000;

/** Performs actions of the same name one after another; different names never wait for one another. */
export class NamedTurns {
  readonly #turns = new Map<string, Turns>();

  /** Returns true while an action of this name is in flight. */
  isTaken(name: string): boolean {
    return this.#turns.has(name);
  }

  /** @throws PublicError `unavailable` when too many wait already */
  async take<T>(scope: Scope, name: string, action: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(name) ?? new Turns({ places: 1, maxWaiting: MAX_WAITING, what: name });
    this.#turns.set(name, turns);
    try {
      return await turns.take(scope, action);
    } finally {
      if (turns.isIdle) this.#turns.delete(name);
    }
  }
}
