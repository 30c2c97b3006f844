import { findProcess, type ProcessIdentity } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { BoundedReader, FEW_STUCK } from './bounded-reader.js';
import type { variableOf } from './environment-variable.js';
import { processNumbers, statusOf } from './process-status.js';

export interface MarkedOptions {
  /** The user that they run as; undefined where pods have no users of their own. */
  readonly uid?: number | undefined;
  readonly clock: Clock;
  /** Reads a variable of a process. */
  readonly read?: typeof variableOf;
  /** Known without its variables: one that is looked for, or one that is not. They are not read then. */
  readonly isCertain?: (pid: number) => boolean | undefined;
  /** Asked for a process that keeps its variables from its readers: whether it counts as one that is looked for. */
  readonly isLikely?: (pid: number) => boolean;
}

export interface MarkedProcesses {
  readonly marked: readonly ProcessIdentity[];
  /** Pids of processes that keep their variables from their readers, so that their owner is unknown. */
  readonly unclear: readonly number[];
}

/**
 * Processes that were started with a variable, and all their descendants: children inherit it, also those
 * that leave the process group. Variables of other users are not read: each process may have megabytes of
 * them. Empty where there is no `/proc`.
 */
export async function markedProcesses(
  variable: string,
  value: string,
  { uid, clock, read, isCertain, isLikely }: MarkedOptions,
): Promise<MarkedProcesses> {
  const marked = new Map<number, ProcessIdentity>();
  const unclear: number[] = [];
  if (process.platform !== 'linux') return { marked: [], unclear };
  const pace = new Pace(clock);
  const reader = new BoundedReader({ clock, pace, read, bounds: FEW_STUCK });
  for (const pid of processNumbers()) {
    await pace.step();
    if (pid === process.pid) continue;
    const status = statusOf(pid);
    if (!status || (uid !== undefined && !status.uids.includes(uid))) continue;
    let isMarked = isCertain?.(pid);
    if (isMarked === undefined) {
      const found = await reader.variableOf(pid, status.uids[0], variable);
      isMarked = found === value;
      if (typeof found === 'symbol') isMarked = marked.has(status.parent) || isLikely?.(pid) === true;
      if (typeof found === 'symbol' && !isMarked && findProcess(pid)) unclear.push(pid);
    }
    const identity = isMarked ? findProcess(pid) : undefined;
    if (identity) marked.set(pid, identity);
  }
  return { marked: [...marked.values()], unclear };
}
