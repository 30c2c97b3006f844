import type { Clock } from '#lib/time';
import type { Pace } from '../pace.js';
import { variableOf } from './environment-variable.js';
import { STUCK, UNASKED, type Unread } from './memory-file.js';

/**
 * Limits for one walk over the processes of a machine, of which some block the readers of their variables.
 */
export interface ReadBounds {
  /**
   * Maximum number of stuck processes per user that are read: each keeps the walk waiting for seconds, and
   * one user may have thousands.
   */
  readonly stuckOfUser: number;
  /** Total milliseconds for reading; no process is read afterwards. */
  readonly totalMs: number;
}

/** Limits for walks that others wait for. */
export const FEW_STUCK: ReadBounds = { stuckOfUser: 5, totalMs: 15_000 };
/** No limits, for walks whose only waiters are the processes to be ended. */
export const ALL_STUCK: ReadBounds = {
  stuckOfUser: Number.POSITIVE_INFINITY,
  totalMs: Number.POSITIVE_INFINITY,
};

interface BoundedReaderOptions {
  readonly clock: Clock;
  /** Pace of the walk. */
  readonly pace: Pace;
  readonly bounds: ReadBounds;
  /** Reads a variable of a process. */
  readonly read?: typeof variableOf | undefined;
}

/** Reads variables of processes, of each user within bounds: one user's processes take the time of no other's. */
export class BoundedReader {
  readonly #clock: Clock;
  readonly #pace: Pace;
  readonly #bounds: ReadBounds;
  readonly #read: typeof variableOf;
  readonly #stuck = new Map<number | undefined, number>();
  #spentMs = 0;

  constructor({ clock, pace, bounds, read = variableOf }: BoundedReaderOptions) {
    this.#clock = clock;
    this.#pace = pace;
    this.#bounds = bounds;
    this.#read = read;
  }

  /** UNASKED too where a bound is reached. */
  async variableOf(pid: number, uid: number | undefined, name: string): Promise<string | Unread | undefined> {
    const stuck = this.#stuck.get(uid) ?? 0;
    if (stuck >= this.#bounds.stuckOfUser || this.#spentMs >= this.#bounds.totalMs) return UNASKED;
    const beganMs = this.#clock.monotonicMs();
    const found = await this.#read(pid, name, this.#clock);
    const tookMs = this.#clock.monotonicMs() - beganMs;
    this.#spentMs += tookMs;
    if (found !== STUCK) return found;
    this.#pace.leaveOut(tookMs);
    this.#stuck.set(uid, stuck + 1);
    return STUCK;
  }

  /** Begins another round: the stuck processes were killed by now. The total time continues. */
  beginRound(): void {
    this.#stuck.clear();
  }
}
