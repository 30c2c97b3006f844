import { PublicError } from '#lib/errors';
import { WaitingTurns } from '#lib/turns';
import type { Scope } from './scope.js';

/** The server's own work: nothing else keeps its runs and crons going. */
const SERVER = Symbol('server');

type Owner = string | typeof SERVER;

export interface TurnLimits {
  /** Actions at once. */
  readonly places: number;
  /** Of one caller; a request more is refused. */
  readonly maxWaiting: number;
  /** What is waited for, for the refusal. */
  readonly what: string;
}

/**
 * Lets a few do something at once and has the others wait their turn. The server comes first, since it waits for itself
 * alone; callers are served in turn, so that one who asks for much holds others up by one action at a time.
 */
export class Turns {
  readonly #waiting = new WaitingTurns<Owner>();
  #taken = 0;

  constructor(private readonly limits: TurnLimits) {}

  /** Whether nothing is done and nothing waits. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /**
   * @param left takes it out of its line, with its reason: nobody waits for it any more
   * @throws PublicError `unavailable` when the caller has too many that wait already
   */
  async take<T>(scope: Scope, action: () => Promise<T>, left?: AbortSignal): Promise<T> {
    if (this.#taken < this.limits.places) this.#taken++;
    else await this.#wait(ownerOf(scope), left);
    try {
      return await action();
    } finally {
      this.#passOn();
    }
  }

  async #wait(owner: Owner, left: AbortSignal | undefined): Promise<void> {
    left?.throwIfAborted();
    const { maxWaiting, what } = this.limits;
    if (owner !== SERVER && this.#waiting.lengthOf(owner) >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    await this.#waiting.wait(owner, left);
  }

  #passOn(): void {
    if (!this.#waiting.begin(SERVER) && !this.#beginCaller()) this.#taken--;
  }

  #beginCaller(): boolean {
    for (const caller of this.#waiting.owners()) return this.#waiting.begin(caller);
    return false;
  }
}

function ownerOf(scope: Scope): Owner {
  return scope.kind === 'worker' ? SERVER : (scope.caller ?? '');
}
