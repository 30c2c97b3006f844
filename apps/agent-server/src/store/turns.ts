import { Admission, type Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import type { Scope } from './scope.js';

export interface TurnLimits {
  /** Actions at once. */
  readonly places: number;
  /** Waiting requests of one caller; another one is refused. */
  readonly maxWaiting: number;
  /** Name of the action, for the refusal. */
  readonly what: string;
  /** Actions of one caller at once, when the caller is known; all of them by default. */
  readonly placesPerCaller?: number;
}

/**
 * Bounds how many actions are performed at once; the others wait. The server's own work comes first, since no other program
 * continues its runs and crons; callers are served round-robin.
 */
export class Turns {
  readonly #admission: Admission;

  constructor(private readonly limits: TurnLimits) {
    const { places, placesPerCaller = places } = limits;
    this.#admission = new Admission({ capacity: places, perOwner: placesPerCaller });
  }

  /** True when no action is performed or waits. */
  get isIdle(): boolean {
    return this.#admission.held === 0;
  }

  /**
   * @param left ends the wait with its reason
   * @throws PublicError `unavailable` when too many requests of the caller wait already
   */
  async take<T>(scope: Scope, action: () => Promise<T>, left?: AbortSignal): Promise<T> {
    if (scope.kind === 'worker')
      return this.#admission.run(undefined, action, { isUrgent: true, signal: left });
    const place = this.#admission.tryEnter(scope.caller) ?? (await this.#wait(scope.caller, left));
    try {
      return await action();
    } finally {
      place.release();
    }
  }

  #wait(caller: string | undefined, signal: AbortSignal | undefined): Promise<Place> {
    signal?.throwIfAborted();
    const { maxWaiting, what } = this.limits;
    if (this.#admission.waitingOf(caller) >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    return this.#admission.enter(caller, { signal });
  }
}

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
