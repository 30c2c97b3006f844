import { createContext, Script } from 'node:vm';

const sandbox: { task: () => void } = { task: () => undefined };
const context = createContext(sandbox);
const script = new Script('task()');

/** The work took too long and was ended in its middle. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/**
 * Runs work that nothing else could end, for it never gives the thread back. It costs a thread that watches, half a
 * millisecond, so it is for the few cases that could be long.
 * @throws TimeLimitError
 */
export function withinTime<T>(work: () => T, timeoutMs: number): T {
  let result: { readonly value: T } | undefined;
  sandbox.task = () => void (result = { value: work() });
  try {
    script.runInContext(context, { timeout: timeoutMs });
  } catch (error) {
    // made by Node itself, so it belongs to another realm inside a test runner's sandbox
    const { code } = error as { readonly code?: unknown };
    if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new TimeLimitError(`longer than ${timeoutMs} ms`);
    throw error;
  } finally {
    sandbox.task = () => undefined;
  }
  if (!result) throw new TimeLimitError(`longer than ${timeoutMs} ms`);
  return result.value;
}
