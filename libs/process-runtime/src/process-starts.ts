import { Admission } from '#lib/admission';
import type { Clock } from '#lib/time';

/** A process that was stopped during a start took no longer for it. */
const MAX_REST_MS = 1_000;

/**
 * Schedules starts of processes, and the look-ups on the machine for them. A start blocks the node while the
 * kernel copies this process's page tables, 10 ms on a busy machine, and one pod may have 256 containers with
 * three probes each. So they start one at a time, round robin over users of pods, with a pause after each.
 */
export class ProcessStarts {
  readonly #clock: Clock;
  readonly #restRatio: number;
  readonly #admission = new Admission<number>({ capacity: 1 });

  /** @param restRatio pause after a start, in multiples of its duration */
  constructor(clock: Clock, restRatio: number) {
    this.#clock = clock;
    this.#restRatio = restRatio;
  }

  /**
   * Runs the step when the queue reaches it, and returns its result.
   * @param uid of the pod's user
   * @throws the reason of `left` when that is aborted before
   */
  async start<T>(uid: number | undefined, step: () => T, left?: AbortSignal): Promise<T> {
    left?.throwIfAborted();
    const place = this.#admission.tryEnter(uid) ?? (await this.#admission.enter(uid, { signal: left }));
    const beganMs = this.#clock.monotonicMs();
    try {
      return step();
    } finally {
      const restMs = (this.#clock.monotonicMs() - beganMs) * this.#restRatio;
      this.#clock.after(Math.min(restMs, MAX_REST_MS), place.release);
    }
  }
}
