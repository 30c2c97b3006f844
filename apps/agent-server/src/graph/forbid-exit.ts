/** Thrown into an agent that wants to end the process. */
class ExitRefused extends Error {
  override readonly name = 'ExitRefused';
}

/**
 * Keeps agents from ending the server, and with it the runs of everybody else: `process.exit` throws from now on.
 * @returns gives it back, for the server's own end
 */
export function forbidExit(): () => void {
  const { exit } = process;
  process.exit = (code?: number | string | null): never => {
    throw new ExitRefused(`the agent called process.exit(${code ?? ''}), which would end the runs of others`);
  };
  return () => {
    process.exit = exit;
  };
}
