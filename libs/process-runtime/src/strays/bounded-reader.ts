import type { Clock } from '#lib/time';
import type { Pace } from '../pace.js';
import { variableOf } from './environment-variable.js';
import { STUCK, UNASKED, type Unread } from './memory-file.js';

/** What one walk over the processes of a machine waits for those that keep their variables from their readers. */
export interface ReadBounds {
  /** Each keeps the walk waiting for seconds, and one user may have thousands: of a user no more are asked after so many. */
  readonly stuckOfUser: number;
  /** Milliseconds that reading may take in all; nobody is asked afterwards. */
  readonly totalMs: number;
}

/** For walks that others wait for. */
export const FEW_STUCK: ReadBounds = { stuckOfUser: 5, totalMs: 15_000 };
/** For walks that nobody waits for but what is to be ended. */
export const ALL_STUCK: ReadBounds = {
  stuckOfUser: Number.POSITIVE_INFINITY,
  totalMs: Number.POSITIVE_INFINITY,
};

interface BoundedReaderOptions {
  readonly clock: Clock;
  /** Of the walk. */
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

  /** Those that were stuck are killed by now; the time goes on. */
  beginRound(): void {
    this.#stuck.clear();
  }
}
