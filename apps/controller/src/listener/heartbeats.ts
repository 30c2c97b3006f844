import { CONDITION, isConditionTrue, type Listener } from '#lib/resources';
import type { Clock } from '#lib/time';

/**
 * A controller that starts has not seen which heartbeats arrived while it was stopped. A listener that was alive then, as one
 * that starts with it on the same machine, gets this time for another.
 */
const FIRST_LOOK_MS = 20_000;

interface Seen {
  readonly beat: string;
  readonly atMs: number;
}

/**
 * Decides if listeners are alive, by the arrival of their heartbeats on this program's monotonic clock. The
 * time that a listener writes is of its own clock, which may be wrong; it counts only once, for a heartbeat
 * that this program has not seen arrive.
 */
export class Heartbeats {
  /** Heartbeats by the listener's uid. */
  readonly #seen = new Map<string, Seen>();
  readonly #clock: Clock;
  readonly #staleMs: number;

  /** @param staleMs age at which a heartbeat is stale */
  constructor(clock: Clock, staleMs: number) {
    this.#clock = clock;
    this.#staleMs = staleMs;
  }

  /** Forgets listeners that do not exist any more. @param uids uids of those that do */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
  }

  /** Number of listeners seen. */
  get size(): number {
    return this.#seen.size;
  }

  isFresh(listener: Listener): boolean {
    const left = this.staleInMs(listener);
    return left !== undefined && left > 0;
  }

  /**
   * Milliseconds from now until the last heartbeat is stale, negative once it is; undefined before the first
   * one.
   */
  staleInMs(listener: Listener): number | undefined {
    const { uid = '' } = listener.metadata;
    const beat = listener.status?.lastHeartbeatTime;
    if (beat === undefined) return undefined;
    const nowMs = this.#clock.monotonicMs();
    let seen = this.#seen.get(uid);
    if (seen?.beat !== beat) {
      seen = { beat, atMs: nowMs - (seen ? 0 : this.#ageAtFirstLook(listener, beat)) };
      this.#seen.set(uid, seen);
    }
    return seen.atMs + this.#staleMs - nowMs;
  }

  #ageAtFirstLook({ status }: Listener, beat: string): number {
    const ageMs = Math.max(0, this.#clock.now().getTime() - Date.parse(beat));
    const wasFresh = isConditionTrue(status?.conditions, CONDITION.heartbeatFresh);
    return wasFresh ? Math.min(ageMs, Math.max(0, this.#staleMs - FIRST_LOOK_MS)) : ageMs;
  }
}
