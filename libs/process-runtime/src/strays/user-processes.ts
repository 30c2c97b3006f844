import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProcess, sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { variableOf } from './environment-variable.js';
import { STUCK, UNASKED } from './memory-file.js';
import { NODE_MARKER } from './process-marker.js';
import { processNumbers, statusOf, textOf } from './process-status.js';

/** Processes that fork while they are killed are found in the next round. */
const MAX_ROUNDS = 50;

export interface EndingOfUsers {
  readonly uids: readonly number[];
  readonly podsFolder: string;
  /** Of this node. */
  readonly usersFile: string;
  readonly clock: Clock;
  /** Asked before each is killed: whether still no pod runs as one of these users. */
  readonly isIdle: () => boolean;
}

/**
 * Kills whatever runs as one of these users of pods, also what has left its group and cleared its environment: nothing
 * but its user tells then where it came from. Another node of this machine may give the same numbers to its own pods;
 * their marker says so, and they are left alone; so is what this process started itself and will end.
 * @returns how many it has killed
 */
export async function endProcessesOf(ending: EndingOfUsers): Promise<number> {
  const { clock, isIdle } = ending;
  const people = usersOfPeople();
  const uids = new Set(ending.uids.filter((uid) => !people.has(uid)));
  if (process.platform !== 'linux' || uids.size === 0) return 0;
  const pace = new Pace(clock);
  const killed = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let found = 0;
    for (const pid of processNumbers()) {
      await pace.step();
      if (!isOfUsers(pid, uids) || (await isOfAnotherNode(pid, ending))) continue;
      if (!isIdle()) return killed.size;
      found++;
      killed.add(pid);
      sendSignal(pid, 'SIGKILL', false);
    }
    if (found === 0) break;
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
  const status = statusOf(pid);
  // one that is over waits for its parent
  return (
    status !== undefined &&
    status.parent !== process.pid &&
    status.uids.some((uid) => uids.has(uid)) &&
    findProcess(pid) !== undefined
  );
}

/**
 * Any process may claim it: what it claims must be there, and belong to the user of the nodes. One that keeps its variables
 * from its readers claims nothing; one that could not be asked is left alone.
 */
async function isOfAnotherNode(
  pid: number,
  { podsFolder, usersFile, clock }: EndingOfUsers,
): Promise<boolean> {
  const claimed = await variableOf(pid, NODE_MARKER, clock);
  if (claimed === UNASKED) return true;
  if (claimed === undefined || claimed === STUCK || claimed === podsFolder) return false;
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
