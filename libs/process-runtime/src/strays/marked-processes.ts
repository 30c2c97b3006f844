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
  /** Called for a process that keeps its variables from its readers, and is left out: it may be anybody's. */
  readonly onStuck?: (pid: number) => void;
}

/**
 * Processes that were started with a variable, and all that these started: children inherit it, also those that leave
 * the process group. Variables of other users are not read: each process may have megabytes of them. Empty where there
 * is no `/proc`.
 */
export async function markedProcesses(
  variable: string,
  value: string,
  { uid, clock, read = variableOf, onStuck }: MarkedOptions,
): Promise<readonly ProcessIdentity[]> {
  if (process.platform !== 'linux') return [];
  const pace = new Pace(clock);
  const marked: ProcessIdentity[] = [];
  for (const pid of processNumbers()) {
    await pace.step();
    if (pid === process.pid) continue;
    if (uid !== undefined && statusOf(pid)?.uids.includes(uid) !== true) continue;
    const found = await read(pid, variable, clock);
    if (typeof found === 'symbol') onStuck?.(pid);
    const identity = found === value ? findProcess(pid) : undefined;
    if (identity) marked.push(identity);
  }
  return marked;
}
