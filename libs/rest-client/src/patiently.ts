import { Backoff, type Clock, systemClock } from '#lib/time';
import { type RestClient, RestError, RestUnreachableError } from './rest-client.js';

/** A busy server, and one behind a proxy that is being replaced. */
const PASSING = new Set([408, 429, 502, 503, 504]);
/** The longest pause that a server may ask for; a longer one is taken in parts. */
const LONGEST_MS = 60_000;

/**
 * Requests that are sent again while the server is busy or away, after the pause that it asks for, else after growing
 * ones. Every request must be one that may be sent twice.
 * @param options.forMs time without a success after which the error is thrown
 */
export function patiently(
  rest: PatientRequests,
  { forMs, clock = systemClock }: { readonly forMs: number; readonly clock?: Clock },
): PatientRequests {
  const persist = async <T>(ask: () => Promise<T>): Promise<T> => {
    const backoff = new Backoff(clock, { firstMs: 500, longestMs: LONGEST_MS });
    const began = clock.monotonicMs();
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isPassing(error) || clock.monotonicMs() - began > forMs) throw error;
        const own = backoff.nextMs();
        const wished = error instanceof RestError ? error.answer.retryAfterMs : undefined;
        await clock.sleep(Math.min(LONGEST_MS, wished ?? own));
      }
    }
  };
  return {
    request: <T>(...asked: Parameters<PatientRequests['request']>) =>
      persist(() => rest.request<T>(...asked)),
    bytes: (path) => persist(() => rest.bytes(path)),
  };
}

/** Requests that are sent again. */
export type PatientRequests = Pick<RestClient, 'request' | 'bytes'>;

function isPassing(error: unknown): boolean {
  return error instanceof RestUnreachableError || (error instanceof RestError && PASSING.has(error.status));
}
