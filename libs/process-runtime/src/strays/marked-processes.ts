import { readdirSync, readFileSync } from 'node:fs';
import { findProcess, type ProcessIdentity } from '#lib/process-identity';

/**
 * Processes that were started with a variable, and all that these started: children inherit it, also those that leave
 * the process group. Empty where there is no `/proc`.
 */
export function markedProcesses(variable: string, value: string): readonly ProcessIdentity[] {
  if (process.platform !== 'linux') return [];
  const marker = `${variable}=${value}`;
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      if (!readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(marker)) return [];
    } catch {
      return []; // gone, or another user's
    }
    return findProcess(pid) ?? [];
  });
}
