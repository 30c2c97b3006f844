import { lstatSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { findProcess, sendSignal } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { ALL_STUCK, BoundedReader, type ReadBounds } from './bounded-reader.js';
import type { variableOf } from './environment-variable.js';
import { STUCK } from './memory-file.js';
import { isAtHome, NODE_MARKER, processNumbers, statusOf, usersOfPeople } from './process-status.js';

/** Processes that fork while they are killed are found in the next round. */
const MAX_ROUNDS = 50;
/** Number of times that killed processes are checked again: the kernel ends them in its own time. */
const MAX_LOOKS = 20;
const LOOK_MS = 10;

export interface EndingOfUsers {
  readonly uids: readonly number[];
  readonly podsFolder: string;
  /** File of this node's users. */
  readonly usersFile: string;
  readonly clock: Clock;
  /** Asked before each is killed: whether still no pod runs as one of these users. */
  readonly isIdle: () => boolean;
  /** Default: all are waited for. */
  readonly bounds?: ReadBounds | undefined;
  /** Reads a variable of a process. */
  readonly read?: typeof variableOf;
}

export interface EndedProcesses {
  /** Number of processes that were killed. */
  readonly ended: number;
  /** Users some of whose processes were left alone, because it was not read whose they are. */
  readonly unasked: readonly number[];
}

/**
 * Kills whatever runs as one of these users of pods, also what has left its group and cleared its environment: nothing
 * but its user tells then where it came from. Another node of this machine may give the same numbers to its own pods;
 * their marker says so, and they are left alone; so is what this process started itself and will end.
 */
export async function endProcessesOf(ending: EndingOfUsers): Promise<EndedProcesses> {
  const people = usersOfPeople();
  const uids = new Set(ending.uids.filter((uid) => !people.has(uid)));
  if (process.platform !== 'linux' || uids.size === 0) return { ended: 0, unasked: [] };
  const walk = new Walk(ending, uids);
  for (let round = 0, looks = 0; round < MAX_ROUNDS && looks < MAX_LOOKS; round++) {
    // first all that works in a folder of pods: with it may end what others of its user wait for
    const { found, dying } = await walk.round(round > 0);
    if (found > 0 || round === 0) continue;
    if (dying === 0 || !ending.isIdle()) break;
    looks++;
    await ending.clock.sleep(LOOK_MS);
  }
  return { ended: walk.killed.size, unasked: [...walk.unasked] };
}

class Walk {
  readonly #ending: EndingOfUsers;
  readonly #uids: ReadonlySet<number>;
  readonly #pace: Pace;
  readonly #reader: BoundedReader;
  /** Their starts, by their numbers. */
  readonly killed = new Map<number, string>();
  /** Users of processes that the last round has left. */
  readonly unasked = new Set<number>();

  constructor(ending: EndingOfUsers, uids: ReadonlySet<number>) {
    const { clock, read, bounds = ALL_STUCK } = ending;
    this.#ending = ending;
    this.#uids = uids;
    this.#pace = new Pace(clock);
    this.#reader = new BoundedReader({ clock, read, bounds, pace: this.#pace });
  }

  /** @returns number of killed processes, and of others that have not ended */
  async round(mayAsk: boolean): Promise<{ readonly found: number; readonly dying: number }> {
    const { podsFolder, isIdle } = this.#ending;
    let found = 0;
    let dying = 0;
    this.#reader.beginRound();
    this.unasked.clear();
    for (const pid of processNumbers()) {
      await this.#pace.step();
      const uid = userOf(pid, this.#uids);
      // one that is over waits for its parent
      const startedAt = uid === undefined ? undefined : findProcess(pid)?.startedAt;
      if (uid === undefined || startedAt === undefined) continue;
      if (this.killed.get(pid) === startedAt) {
        dying++;
        continue;
      }
      if (!isAtHome(pid, podsFolder) && !(mayAsk && (await this.#isOfThisNode(pid, uid)))) continue;
      if (!isIdle()) return { found: 0, dying: 0 };
      found++;
      this.killed.set(pid, startedAt);
      sendSignal(pid, 'SIGKILL', false);
    }
    return { found, dying };
  }

  /**
   * Any process may claim to be of another node: what it claims must be there, and belong to the user of the nodes. One
   * that keeps its variables from its readers claims nothing.
   */
  async #isOfThisNode(pid: number, uid: number): Promise<boolean> {
    const { podsFolder, usersFile } = this.#ending;
    const claimed = await this.#reader.variableOf(pid, uid, NODE_MARKER);
    if (claimed === undefined || claimed === STUCK || claimed === podsFolder) return true;
    if (typeof claimed === 'symbol') {
      this.unasked.add(uid);
      return false;
    }
    const users = fileAt(join(dirname(claimed), 'users.json'));
    if (users?.uid !== process.getuid?.()) return true;
    const own = fileAt(usersFile);
    return users === undefined || (users.dev === own?.dev && users.ino === own.ino);
  }
}

/**
 * User from its status, which every process shows: the owner of its folder in `/proc` is root once it may not
 * be traced.
 */
function userOf(pid: number, uids: ReadonlySet<number>): number | undefined {
  const status = statusOf(pid);
  return status?.parent === process.pid ? undefined : status?.uids.find((uid) => uids.has(uid));
}

/** File itself, not the target of a link: any user may make a link to a file of root. */
function fileAt(path: string): Stats | undefined {
  try {
    const found = lstatSync(path);
    return found.isFile() ? found : undefined;
  } catch {
    return undefined; // not there, or gone by now
  }
}
