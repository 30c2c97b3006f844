/**
 * Asks until the answer is neither `undefined`, `null` nor false, and returns it.
 * @throws after `timeoutMs`, with the last error or `describe()`
 */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeoutMs = 60_000,
  everyMs = 200,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs} ms for ${what}`, last === undefined ? {} : { cause: last });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
