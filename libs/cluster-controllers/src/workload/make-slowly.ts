/** Objects that were made, and why no more. */
export interface Made<T> {
  readonly made: readonly T[];
  readonly problem?: unknown;
}

/**
 * One, then two, then four … at a time, until one fails: what fails for all of them (a quota, a webhook) is asked once
 * and not 500 times, with a template of a megabyte each time.
 */
export async function makeSlowly<T>(count: number, make: () => Promise<T>): Promise<Made<T>> {
  const made: T[] = [];
  for (let batch = 1; made.length < count; batch *= 2) {
    const size = Math.min(batch, count - made.length);
    const outcomes = await Promise.allSettled(Array.from({ length: size }, make));
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') made.push(outcome.value);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) return { made, problem: failed.reason };
  }
  return { made };
}
