import type { Listener } from '#lib/resources';
import type { Clock } from '#lib/time';

/** A heartbeat older than this is stale. A listener writes one every ten seconds. */
const HEARTBEAT_STALE_MS = 45_000;

interface Seen {
  readonly beat: string;
  readonly atMs: number;
}

/**
 * Whether listeners are alive, by the arrival of their heartbeats on this program's monotonic clock. The time that a
 * listener writes is of its own clock, which may be wrong; it counts once alone, for a heartbeat that this program has
 * not seen arrive.
 */
export class Heartbeats {
  /** By uid. */
  readonly #seen = new Map<string, Seen>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Forgets listeners that do not exist any more. @param uids of those that do */
  keep(uids: ReadonlySet<string>): void {
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
  }

  /** How many listeners it has seen. */
  get size(): number {
    return this.#seen.size;
  }

  isFresh({ metadata: { uid = '' }, status }: Listener): boolean {
    const beat = status?.lastHeartbeatTime;
    if (beat === undefined) return false;
    const nowMs = this.#clock.monotonicMs();
    let seen = this.#seen.get(uid);
    if (seen?.beat !== beat) {
      const ageMs = seen ? 0 : Math.max(0, this.#clock.now().getTime() - Date.parse(beat));
      seen = { beat, atMs: nowMs - ageMs };
      this.#seen.set(uid, seen);
    }
    return nowMs - seen.atMs <= HEARTBEAT_STALE_MS;
  }
}
