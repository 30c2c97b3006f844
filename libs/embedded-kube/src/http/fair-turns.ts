import { Admission } from '#lib/admission';
import { ApiError } from '#lib/kube-semantics';
import type { Clock } from '#lib/time';

/** Time for which a real API server lets a request wait in its queue. */
const PATIENCE_MS = 15_000;

/**
 * Schedules requests when more is asked for than one process can do: holders are served round-robin, one slice in each
 * round of the event loop. A thousand requests of one user then cost another one slice of waiting, not a thousand. A
 * slice ends where its request awaits a body, the database or a node.
 */
export class FairTurns {
  readonly #admission = new Admission({ capacity: 1 });

  constructor(
    private readonly clock: Clock,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /**
   * Resolves when the holder is scheduled.
   * @param ended aborted once the request has ended
   * @throws ApiError 429 when that took too long
   */
  async take(holder: string, ended: AbortSignal): Promise<void> {
    const sinceMs = this.clock.monotonicMs();
    const place = await this.#admission.enter(holder, { signal: ended });
    // all that follows, up to what it must wait for, happens before the next round
    setImmediate(place.release);
    const waitedMs = this.clock.monotonicMs() - sinceMs;
    if (waitedMs <= this.patienceMs) return;
    place.release();
    throw new ApiError(
      429,
      'TooManyRequests',
      `the request waited ${Math.round(waitedMs / 1000)} s behind other requests of ${holder}; send fewer at a time`,
      { retryAfterSeconds: 1 },
    );
  }
}
