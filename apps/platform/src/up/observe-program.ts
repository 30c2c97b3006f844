import { metrics, type Program } from '#lib/telemetry';

/** Counts the processes of a program: to be called with whether one runs, whenever that changes. */
export function observeProgram(program: Program): (isRunning: boolean) => void {
  let starts = 0;
  metrics.programUp.set(0, { program });
  return (isRunning) => {
    metrics.programUp.set(isRunning ? 1 : 0, { program });
    if (isRunning && starts++ > 0) metrics.programRestarts.add(1, { program });
  };
}
