/** Thrown into an agent that wants to end the process. */
class ExitRefused extends Error {
  override readonly name = 'ExitRefused';
}

/**
 * Keeps agents from ending the server, and with it the runs of others: `process.exit` throws from now on.
 * @returns puts it back, for the end of the server itself
 */
export function forbidExit(): () => void {
  const { exit } = process;
  process.exit = (code?: number | string | null): never => {
    throw new ExitRefused(
      `the agent called process.exit(${code ?? ''}), which would end the runs of others; throw an error instead`,
    );
  };
  return () => {
    process.exit = exit;
  };
}
