import { lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProcess, sendSignal } from '#lib/process-identity';
import { variableOf } from './environment-variable.js';
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
  const claimed = variableOf(pid, NODE_MARKER);
  if (claimed === undefined || claimed === podsFolder) return false;
  const users = fileAt(join(dirname(claimed), 'users.json'));
  if (users?.uid !== process.getuid?.()) return false;
  const own = fileAt(usersFile);
  return users !== undefined && !(users.dev === own?.dev && users.ino === own.ino);
}

/** Not what a link leads to: anybody may make a link to a file of root. */
function fileAt(path: string): Stats | undefined {
  try {
    const found = lstatSync(path);
    return found.isFile() ? found : undefined;
  } catch {
    return undefined; // not there, or gone by now
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // gone
  }
}
