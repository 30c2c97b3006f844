import type { Clock } from '#lib/time';
import { isRunning, type ProcessIdentity } from './process-identity.js';

export interface EndOptions {
  readonly clock: Clock;
  /** Milliseconds between the polite signal and SIGKILL; 0 kills at once. */
  readonly graceMs: number;
  /** Signal the whole process group that the process leads. */
  readonly group?: boolean;
  readonly signal?: NodeJS.Signals;
}

/**
 * Ends a process (or the group it leads) and waits until it has ended. Does nothing when another process has its pid.
 * @throws Error when it is still there five seconds after SIGKILL
 */
export async function endProcess(identity: ProcessIdentity, options: EndOptions): Promise<void> {
  const { clock, graceMs, group = false, signal = 'SIGTERM' } = options;
  if (graceMs > 0 && isRunning(identity)) {
    sendSignal(identity.pid, signal, group);
    if (await hasEnded(identity, clock, graceMs)) {
      if (group) sendSignal(identity.pid, 'SIGKILL', group); // kills the rest of the group
      return;
    }
  }
  if (!isRunning(identity)) return;
  sendSignal(identity.pid, 'SIGKILL', group);
  if (!(await hasEnded(identity, clock, 5_000)))
    throw new Error(`process ${identity.pid} still exists after SIGKILL`);
}

/** Sends a signal; a process or group that has ended is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals, group: boolean): void {
  try {
    process.kill(group ? -pid : pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function hasEnded(identity: ProcessIdentity, clock: Clock, withinMs: number): Promise<boolean> {
  const deadline = clock.monotonicMs() + withinMs;
  for (let pauseMs = 5; clock.monotonicMs() < deadline; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    if (!isRunning(identity)) return true;
    await clock.sleep(pauseMs);
  }
  return !isRunning(identity);
}
