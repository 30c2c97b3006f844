import { findProcess, type ProcessIdentity } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { variableOf } from './environment-variable.js';
import { processNumbers, statusOf } from './process-status.js';

export interface MarkedOptions {
  /** The user that they run as; undefined where pods have no users of their own. */
  readonly uid?: number | undefined;
  readonly clock: Clock;
  /** Reads a variable of a process. */
  readonly read?: typeof variableOf;
}

/**
 * Processes that were started with a variable, and all that these started: children inherit it, also those that leave
 * the process group. Variables of other users are not read: each process may have megabytes of them. Empty where there is
 * no `/proc`.
 */
export async function markedProcesses(
  variable: string,
  value: string,
  { uid, clock, read = variableOf }: MarkedOptions,
): Promise<readonly ProcessIdentity[]> {
  if (process.platform !== 'linux') return [];
  const pace = new Pace(clock);
  const found: ProcessIdentity[] = [];
  for (const pid of processNumbers()) {
    await pace.step();
    if (pid === process.pid) continue;
    if (uid !== undefined && statusOf(pid)?.uids.includes(uid) !== true) continue;
    const identity = read(pid, variable) === value ? findProcess(pid) : undefined;
    if (identity) found.push(identity);
  }
  return found;
}
