import type { Clock } from '#lib/time';

const TICK_MS = 1_000;
/** A loop that was merely busy is late by less. */
const SLEPT_MS = 5_000;

/**
 * Notices that this process stood still: the machine was suspended, or the process stopped. A process that stood still
 * must renew its own leases before it judges others.
 */
export class SleepWatch {
  readonly #listeners = new Set<(sleptMs: number) => void>();
  #cancel: () => void = () => undefined;
  #count = 0;

  constructor(private readonly clock: Clock) {}

  /** Times it stood still so far; a judgement across a change of this number is worthless. */
  get count(): number {
    return this.#count;
  }

  onAwake(listener: (sleptMs: number) => void): void {
    this.#listeners.add(listener);
  }

  start(): void {
    const before = this.#times();
    this.#cancel = this.clock.after(TICK_MS, () => {
      const after = this.#times();
      // the monotonic clock of some systems stops in a suspended machine, the wall clock does not
      const passedMs = Math.max(after.wall - before.wall, after.monotonic - before.monotonic);
      if (passedMs > TICK_MS + SLEPT_MS) {
        this.#count++;
        for (const listener of this.#listeners) listener(passedMs);
      }
      this.start();
    });
  }

  stop(): void {
    this.#cancel();
  }

  #times(): { wall: number; monotonic: number } {
    return { wall: this.clock.now().getTime(), monotonic: this.clock.monotonicMs() };
  }
}
