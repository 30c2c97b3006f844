import { PublicError } from '#lib/errors';
import type { Clock } from '#lib/time';

const MEGABYTE = 1024 * 1024;
/** Limit per thread: its copy takes disk of the shared database, and a hundred bytes request it. */
const MAX_COPY_BYTES = 256 * MEGABYTE;
/** Limit per caller. */
const MAX_BYTES_AN_HOUR = 1024 * MEGABYTE;
const HOUR_MS = 3_600_000;
/** Callers that are remembered; those whose hour is over are forgotten first. */
const MAX_CALLERS = 10_000;

interface Copied {
  /** Remaining bytes of the caller's copies: they decay steadily to zero within an hour. */
  readonly bytes: number;
  readonly atMs: number;
}

/**
 * Limits the copies of threads: one thread is bounded in size, and each caller in bytes an hour, as this
 * server counts them.
 */
export class CopyAllowance {
  readonly #copied = new Map<string | undefined, Copied>();

  constructor(
    private readonly clock: Clock,
    private readonly limits = { copyBytes: MAX_COPY_BYTES, bytesAnHour: MAX_BYTES_AN_HOUR },
  ) {}

  /**
   * Counts a copy before it is made.
   * @param caller owner of the copy; undefined for an unauthenticated request
   * @throws PublicError `too_large`, `too_many`
   */
  take(caller: string | undefined, threadId: string, bytes: number): void {
    const { copyBytes, bytesAnHour } = this.limits;
    if (bytes > copyBytes)
      throw new PublicError(
        'too_large',
        `Copying thread ${threadId}: its states take ${shown(bytes)}, and ${shown(copyBytes)} is the most; ` +
          'leave it its last states by POST /threads/prune with the strategy keep_latest, or create a thread with its values',
      );
    const nowMs = this.clock.monotonicMs();
    const left = this.#left(caller, nowMs);
    if (left > 0 && left + bytes > bytesAnHour) {
      const waitMs = ((left + bytes - bytesAnHour) / bytesAnHour) * HOUR_MS;
      throw new PublicError(
        'too_many',
        `Copying thread ${threadId}: with its ${shown(bytes)} the copies of the last hour would take more than ${shown(bytesAnHour)}; retry later`,
        [],
        { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
      );
    }
    this.#copied.delete(caller); // the latest last
    this.#copied.set(caller, { bytes: left + bytes, atMs: nowMs });
    if (this.#copied.size > MAX_CALLERS) this.#forget(nowMs);
  }

  #left(caller: string | undefined, nowMs: number): number {
    const { bytes, atMs } = this.#copied.get(caller) ?? { bytes: 0, atMs: nowMs };
    return Math.max(0, bytes - ((nowMs - atMs) / HOUR_MS) * this.limits.bytesAnHour);
  }

  #forget(nowMs: number): void {
    for (const caller of this.#copied.keys())
      if (this.#left(caller, nowMs) === 0) this.#copied.delete(caller);
    for (const caller of this.#copied.keys()) {
      if (this.#copied.size <= MAX_CALLERS) return;
      this.#copied.delete(caller);
    }
  }
}

function shown(bytes: number): string {
  return `${Math.ceil(bytes / MEGABYTE)} MB`;
}
