import type { Clock } from '#lib/time';

/** The node has one thread for all pods: so long may one of its walks keep it at a time. */
const WORK_MS = 10;

/**
 * Pace of a long walk: it pauses as long as it has worked, each time that it has kept the thread for a while.
 */
export class Pace {
  readonly #clock: Clock;
  #beganMs: number;
  #workedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** Working time without its pauses. */
  get workedMs(): number {
    return this.#workedMs + this.#clock.monotonicMs() - this.#beganMs;
  }

  /** Time in which the walk waited for others, since the last step: it is no work. */
  leaveOut(ms: number): void {
    this.#beganMs += ms;
  }

  /** Called after each step; what was seen before may have changed. */
  async step(): Promise<void> {
    const tookMs = this.#clock.monotonicMs() - this.#beganMs;
    if (tookMs < WORK_MS) return;
    this.#workedMs += tookMs;
    await this.#clock.sleep(tookMs);
    this.#beganMs = this.#clock.monotonicMs();
  }
}
