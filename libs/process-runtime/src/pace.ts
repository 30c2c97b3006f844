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
  readonly #admission = new Admission<number>({ capacity: 1 });

  /** @param restRatio pause after a start, in multiples of its duration */
  constructor(
    private readonly clock: Clock,
    private readonly restRatio: number,
  ) {}

  /**
   * Runs the step when the queue reaches it, and returns its result.
   * @param uid of the pod's user
   * @throws the reason of `left` when that is aborted before
   */
  async start<T>(uid: number | undefined, step: () => T, left?: AbortSignal): Promise<T> {
    left?.throwIfAborted();
    const place = this.#admission.tryEnter(uid) ?? (await this.#admission.enter(uid, { signal: left }));
    const beganMs = this.clock.monotonicMs();
    try {
      return step();
    } finally {
      const restMs = (this.clock.monotonicMs() - beganMs) * this.restRatio;
      this.clock.after(Math.min(restMs, MAX_REST_MS), place.release);
    }
  }
}

/** Resolves when `work` does or the time is over, whichever comes first. Keeps no process alive. */
export function within(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    work.then(() => resolve(), reject).finally(cancel);
  });
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function kubeTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

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
