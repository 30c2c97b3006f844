import type { Clock } from '#lib/time';
import type { Endpoint } from './endpoint.js';

const LOOK_EVERY_MS = 25;

/**
 * Chooses the pod for each connection or request, in turn. The list is asked for anew each time, so that a switch of the
 * Service's selector counts from the next request on.
 */
export class EndpointChoice {
  readonly #list: () => readonly Endpoint[];
  readonly #clock: Clock;
  #next = 0;

  constructor(list: () => readonly Endpoint[], clock: Clock) {
    this.#list = list;
    this.#clock = clock;
  }

  /**
   * A ready pod other than those already `tried`; waits up to `patienceMs` for one, because a pod that restarts is back
   * in a moment. Undefined when there is none.
   */
  async choose(
    tried: ReadonlySet<number>,
    patienceMs: number,
    signal: AbortSignal,
  ): Promise<Endpoint | undefined> {
    const deadline = this.#clock.monotonicMs() + patienceMs;
    while (!signal.aborted) {
      const fresh = this.#list().filter(({ port }) => !tried.has(port));
      if (fresh.length > 0) return fresh[this.#next++ % fresh.length];
      if (this.#clock.monotonicMs() >= deadline) return undefined;
      await this.#clock.sleep(LOOK_EVERY_MS);
    }
    return undefined;
  }
}
