import { PublicError } from '#lib/errors';
import { WaitingTurns } from '#lib/turns';
import type { Scope } from './scope.js';

/** The server's own work: nothing else keeps its runs and crons going. */
const SERVER = Symbol('server');

/** Where authentication is off. */
const NAMELESS = '';

type Owner = string | typeof SERVER;

export interface TurnLimits {
  /** Actions at once. */
  readonly places: number;
  /** Of one caller; a request more is refused. */
  readonly maxWaiting: number;
  /** What is waited for, for the refusal. */
  readonly what: string;
  /** Of one caller at once, where it is known who it is; all of them by default. */
  readonly placesPerCaller?: number;
}

/**
 * Lets a few do something at once and has the others wait their turn. The server comes first, since it waits for itself
 * alone; callers are served in turn, so that one who asks for much holds others up by one action at a time.
 */
export class Turns {
  readonly #waiting = new WaitingTurns<Owner>();
  /** Counted for those alone whose places are bounded. */
  readonly #takenBy = new Map<Owner, number>();
  readonly #placesPerCaller: number;
  #taken = 0;

  constructor(private readonly limits: TurnLimits) {
    this.#placesPerCaller = limits.placesPerCaller ?? limits.places;
  }

  /** Whether nothing is done and nothing waits. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /**
   * @param left takes it out of its line, with its reason: nobody waits for it any more
   * @throws PublicError `unavailable` when the caller has too many that wait already
   */
  async take<T>(scope: Scope, action: () => Promise<T>, left?: AbortSignal): Promise<T> {
    const owner = ownerOf(scope);
    if (this.#taken < this.limits.places && this.#mayTake(owner)) this.#begin(owner);
    else await this.#wait(owner, left);
    try {
      return await action();
    } finally {
      this.#end(owner);
    }
  }

  #mayTake(owner: Owner): boolean {
    return (this.#takenBy.get(owner) ?? 0) < this.#placesPerCaller;
  }

  #begin(owner: Owner): void {
    this.#taken++;
    if (isBounded(owner)) this.#takenBy.set(owner, (this.#takenBy.get(owner) ?? 0) + 1);
  }

  #end(owner: Owner): void {
    this.#taken--;
    const taken = (this.#takenBy.get(owner) ?? 0) - 1;
    if (taken > 0) this.#takenBy.set(owner, taken);
    else this.#takenBy.delete(owner);
    this.#serve();
  }

  async #wait(owner: Owner, left: AbortSignal | undefined): Promise<void> {
    left?.throwIfAborted();
    const { maxWaiting, what } = this.limits;
    if (owner !== SERVER && this.#waiting.lengthOf(owner) >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    await this.#waiting.wait(owner, left);
  }

  /** Serves the next one that may take the place. */
  #serve(): void {
    const waiting: Iterable<Owner> = this.#waiting.lengthOf(SERVER) > 0 ? [SERVER] : this.#waiting.owners();
    for (const owner of waiting) {
      if (this.#taken >= this.limits.places) return;
      if (!this.#mayTake(owner)) continue;
      this.#begin(owner);
      this.#waiting.begin(owner);
    }
  }
}

/** The server waits for itself alone; callers without names may be anybody. */
function isBounded(owner: Owner): boolean {
  return owner !== SERVER && owner !== NAMELESS;
}

function ownerOf(scope: Scope): Owner {
  return scope.kind === 'worker' ? SERVER : (scope.caller ?? NAMELESS);
}
