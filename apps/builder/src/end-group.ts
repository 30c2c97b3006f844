import { readdirSync, readFileSync } from 'node:fs';
import { sendSignal, statFields } from '#lib/process-identity';

/** Processes that fork while they are killed are found in the next round. */
const MAX_ROUNDS = 50;

/**
 * Kills all of the process group of this program but itself, where it leads one, as in a container; on Linux
 * only. Processes that have left the group end with the container.
 */
export function endGroup(): void {
  if (process.platform !== 'linux' || groupOf(process.pid) !== process.pid) return;
  const killed = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid && !killed.has(pid) && groupOf(pid) === process.pid);
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        sendSignal(pid, 'SIGKILL', false);
      } catch {
        // it has ended, or another user's rights
      }
    }
  }
}

function groupOf(pid: number): number | undefined {
  try {
    const [, , group] = statFields(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    return Number(group);
  } catch {
    return undefined;
  }
}
