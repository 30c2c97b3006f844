/**
 * Asks until the answer is neither `undefined` nor false, and returns it.
 * @throws after `timeoutMs`, with the last error or `describe()`
 */
export async function waitUntil<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
  everyMs = 200,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs} ms for ${what}`, last === undefined ? {} : { cause: last });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
