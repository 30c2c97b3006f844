import { PublicError } from '#lib/errors';
import { WaitingLines } from '#lib/turns';
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
  readonly #waiting = new WaitingLines<Owner, () => void>();
  #taken = 0;

  constructor(private readonly limits: TurnLimits) {}

  /** Whether nothing is done and nothing waits. */
  get isIdle(): boolean {
    return this.#taken === 0;
  }

  /** @throws PublicError `unavailable` when the caller has too many that wait already */
  async take<T>(scope: Scope, action: () => Promise<T>): Promise<T> {
    if (this.#taken < this.limits.places) this.#taken++;
    else await this.#wait(ownerOf(scope));
    try {
      return await action();
    } finally {
      this.#passOn();
    }
  }

  #wait(owner: Owner): Promise<void> {
    const { maxWaiting, what } = this.limits;
    if (owner !== SERVER && this.#waiting.lengthOf(owner) >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.join(owner, resolve);
    return promise;
  }

  #passOn(): void {
    const begin = this.#waiting.serve(SERVER) ?? this.#serveCaller();
    if (begin) begin();
    else this.#taken--;
  }

  #serveCaller(): (() => void) | undefined {
    for (const [caller] of this.#waiting.firsts()) return this.#waiting.serve(caller);
    return undefined;
  }
}

function ownerOf(scope: Scope): Owner {
  return scope.kind === 'worker' ? SERVER : (scope.caller ?? '');
}
