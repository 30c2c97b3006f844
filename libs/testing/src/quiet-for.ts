/** Milliseconds. Every change waits for them. */
const MAX_MS = 300;

/**
 * Pause of a test which shows that something does not happen, where no later event can show it: a client that does not
 * read is sent nothing more, a reader of another's thread hears nothing. On a slow machine such a test may overlook a
 * fault, but does not fail for it. To wait for something, use `waitFor`.
 */
export function quietFor(ms: number): Promise<void> {
  if (ms > MAX_MS) throw new Error(`quietFor waits ${MAX_MS} ms at most, not ${ms}`);
  return new Promise((resolve) => setTimeout(resolve, ms));
}
