/** The end of a run that ended its process as often as it may. */
export function serverLost(attempts: number): { readonly error: string; readonly message: string } {
  return {
    error: 'ServerLost',
    message: `The run failed: its server was lost ${attempts} times; look for what ends the process`,
  };
}
