/**
 * The only access to the machine's clock and timers, so that decisions about time can be tested without
 * waiting. Decisions about rows use the database's time instead.
 */
export interface Clock {
  /** Wall-clock time. */
  now(): Date;
  /** Milliseconds from a fixed point that never jumps back; for measuring spans. */
  monotonicMs(): number;
  /** Calls back once after `ms`; the result cancels it. Timers never keep a process alive by themselves. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves after `ms`, rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** 24.8 days; what asks for more is called back at once by Node. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Starts a timer in as many parts as it takes. The result cancels it. */
function startTimer(
  ms: number,
  callback: () => void,
  prepare: (timer: NodeJS.Timeout) => unknown = () => undefined,
): () => void {
  const part = Math.min(ms, LONGEST_TIMER_MS);
  let cancel = (): void => clearTimeout(timer);
  const timer = setTimeout(() => {
    if (ms <= part) return callback();
    cancel = startTimer(ms - part, callback, prepare);
  }, part);
  prepare(timer);
  return () => cancel();
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  after: (ms, callback) => startTimer(ms, callback, (timer) => timer.unref()),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const cancel = startTimer(ms, done);
      function done(): void {
        signal?.removeEventListener('abort', aborted);
        resolve();
      }
      function aborted(): void {
        cancel();
        reject(signal?.reason as Error);
      }
      signal?.addEventListener('abort', aborted, { once: true });
    });
  },
};

/**
 * Keeps the process alive until the result is called. A program that lives until it is told to stop needs this: its
 * timers do not hold it, and a moment may come when it has no socket and no child.
 */
export function keepProcessAlive(): () => void {
  const timer = setInterval(() => undefined, LONGEST_TIMER_MS);
  return () => clearInterval(timer);
}
