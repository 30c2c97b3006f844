import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProcess, sendSignal } from '#lib/process-identity';
import { NODE_MARKER } from './process-marker.js';

/** Processes that fork while they are killed are found in the next round. */
const MAX_ROUNDS = 50;

/**
 * Kills whatever runs as one of these users of pods, also what has left its group and cleared its environment: nothing
 * but its user tells then where it came from. Another node of this machine may give the same numbers to its own pods;
 * their marker says so, and they are left alone; so is what this process started itself and will end.
 * @param usersFile of this node
 * @returns how many it has killed
 */
export function endProcessesOf(given: readonly number[], podsFolder: string, usersFile: string): number {
  const people = usersOfPeople();
  const uids = new Set(given.filter((uid) => !people.has(uid)));
  if (process.platform !== 'linux' || uids.size === 0) return 0;
  const killed = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const left = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && isOfUsers(pid, uids) && !isOfAnotherNode(pid, podsFolder, usersFile));
    if (left.length === 0) break;
    for (const pid of left) {
      killed.add(pid);
      sendSignal(pid, 'SIGKILL', false);
    }
  }
  return killed.size;
}

/** A number that was given by mistake may be somebody's, and so are the processes. */
function usersOfPeople(): ReadonlySet<number> {
  return new Set(
    textOf('/etc/passwd')
      .split('\n')
      .map((line) => Number(line.split(':')[2])),
  );
}

/** By its status, which every process shows: the owner of its folder in `/proc` is root once it may not be traced. */
function isOfUsers(pid: number, uids: ReadonlySet<number>): boolean {
  const status = textOf(`/proc/${pid}/status`);
  const numbers = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
  const parent = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1]);
  // one that is over waits for its parent
  return (
    parent !== process.pid && numbers.some((uid) => uids.has(Number(uid))) && findProcess(pid) !== undefined
  );
}

/** Any process may claim it: what it claims must be there, and belong to the user of the nodes. */
function isOfAnotherNode(pid: number, podsFolder: string, usersFile: string): boolean {
  const marker = `${NODE_MARKER}=`;
  const claimed = textOf(`/proc/${pid}/environ`)
    .split('\0')
    .find((variable) => variable.startsWith(marker))
    ?.slice(marker.length);
  if (claimed === undefined || claimed === podsFolder) return false;
  const users = join(dirname(claimed), 'users.json');
  if (users === usersFile || !existsSync(users)) return false;
  return statSync(users).uid === process.getuid?.();
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // gone
  }
}
