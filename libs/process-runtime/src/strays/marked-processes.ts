import { readdirSync } from 'node:fs';
import { findProcess, type ProcessIdentity } from '#lib/process-identity';
import { variableOf } from './environment-variable.js';

/**
 * Processes that were started with a variable, and all that these started: children inherit it, also those that leave
 * the process group. Empty where there is no `/proc`.
 */
export function markedProcesses(variable: string, value: string): readonly ProcessIdentity[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    return variableOf(pid, variable) === value ? (findProcess(pid) ?? []) : [];
  });
}
