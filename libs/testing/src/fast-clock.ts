import { type Clock, systemClock } from '#lib/time';

/**
 * A clock whose spans pass this many times as fast as those of the machine; waits of seconds take a fraction.
 */
export function fastClock(times: number): Clock {
  return {
    now: () => systemClock.now(),
    monotonicMs: () => systemClock.monotonicMs() * times,
    after: (ms, callback) => systemClock.after(ms / times, callback),
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  };
}
