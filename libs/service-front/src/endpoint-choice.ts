import type { LookupFunction } from 'node:net';
import type { Clock } from '#lib/time';

/** Address of a ready pod. */
export interface Endpoint {
  readonly pod: string;
  /** This machine where missing. */
  readonly host?: string;
  readonly port: number;
  /** Finds the addresses of `host`, where it is a name. */
  readonly lookup?: LookupFunction;
}

const LOOK_EVERY_MS = 25;
/** Limit of waiting requests: any caller that reaches the port may wait there, without a key. */
export const MAX_WAITING = 1_000;

/**
 * Chooses the pod for each connection or request, round robin. The list is asked for anew each time, so that
 * a switch of the Service's selector counts from the next request on.
 */
export class EndpointChoice {
  #next = 0;
  #waiting = 0;
  #look: Promise<readonly Endpoint[]> | undefined;

  constructor(
    private readonly list: () => readonly Endpoint[],
    private readonly clock: Clock,
  ) {}

  /** True when the maximum number of requests waits for a pod. */
  get isCrowded(): boolean {
    return this.#waiting >= MAX_WAITING;
  }

  /**
   * A ready pod other than those already `tried`; waits up to `patienceMs` for one, because a pod that
   * restarts is back in a moment. Undefined without one, and at once when too many wait.
   */
  async choose(
    tried: ReadonlySet<string>,
    patienceMs: number,
    signal: AbortSignal,
  ): Promise<Endpoint | undefined> {
    if (signal.aborted) return undefined;
    const found = this.#pick(this.list(), tried);
    if (found || this.isCrowded) return found;
    this.#waiting++;
    try {
      return await this.#wait(tried, this.clock.monotonicMs() + patienceMs, signal);
    } finally {
      this.#waiting--;
    }
  }

  async #wait(
    tried: ReadonlySet<string>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<Endpoint | undefined> {
    while (this.clock.monotonicMs() < deadlineMs) {
      const endpoints = await this.#nextLook();
      if (signal.aborted) return undefined;
      const found = this.#pick(endpoints, tried);
      if (found) return found;
    }
    return undefined;
  }

  /** One for all that wait. */
  #nextLook(): Promise<readonly Endpoint[]> {
    this.#look ??= this.clock.sleep(LOOK_EVERY_MS).then(() => {
      this.#look = undefined;
      return this.list();
    });
    return this.#look;
  }

  #pick(endpoints: readonly Endpoint[], tried: ReadonlySet<string>): Endpoint | undefined {
    const fresh = endpoints.filter(({ pod }) => !tried.has(pod));
    return fresh.length > 0 ? fresh[this.#next++ % fresh.length] : undefined;
  }
}
