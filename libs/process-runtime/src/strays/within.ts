import type { Clock } from '#lib/time';

/** It took longer than a reader waits. */
export const LATE = Symbol('late');

/** A stopped process misses one look, however long it is stopped: the others are made while it runs. */
const LOOK_MS = 200;

/**
 * Result of a promise within so many milliseconds of running time: time in which this process itself stood
 * still, because the machine slept or was overloaded, is not counted.
 */
export async function within<T>(
  over: Promise<T>,
  clock: Clock,
  patienceMs: number,
): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>();
  let cancel = (): void => undefined;
  const look = (left: number): void => {
    cancel = clock.after(LOOK_MS, () => (left > 1 ? look(left - 1) : resolve(LATE)));
  };
  look(Math.ceil(patienceMs / LOOK_MS));
  try {
    return await Promise.race([over, late]);
  } finally {
    cancel();
  }
}
