import { PublicError } from '#lib/errors';
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
  /** By owner, the one that was served longest ago first. */
  readonly #waiting = new Map<Owner, (() => void)[]>();
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
    const line = this.#waiting.get(owner) ?? [];
    const { maxWaiting, what } = this.limits;
    if (owner !== SERVER && line.length >= maxWaiting)
      throw new PublicError('unavailable', `${what}: ${maxWaiting} requests wait for their turn; retry`);
    this.#waiting.set(owner, line);
    const { promise, resolve } = Promise.withResolvers<void>();
    line.push(resolve);
    return promise;
  }

  #passOn(): void {
    const owner = this.#waiting.has(SERVER) ? SERVER : this.#waiting.keys().next().value;
    const line = owner === undefined ? undefined : this.#waiting.get(owner);
    const begin = line?.shift();
    if (owner === undefined || !line || !begin) return void this.#taken--;
    this.#waiting.delete(owner);
    if (line.length > 0) this.#waiting.set(owner, line);
    begin();
  }
}

function ownerOf(scope: Scope): Owner {
  return scope.kind === 'worker' ? SERVER : (scope.caller ?? '');
}
