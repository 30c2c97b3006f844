import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { readMemoryFile, STUCK, UNASKED } from '../strays/memory-file.js';
import { processNumbers, textOf } from '../strays/process-status.js';
import { ProcessTree } from './process-tree.js';

/** A container whose processes may use so much together. */
export interface MemoryBound {
  /** Leader of its process group. */
  readonly pid: number;
  readonly maxBytes: number;
  /** Called once. */
  readonly onExceeded: (usedBytes: number) => void;
}

/** Long enough to cost nothing that is measured, short enough that little is used beyond a limit. */
const LOOK_MS = 500;

/** A tenth of the node's one thread at most: pods choose how many processes are looked at. */
const REST_RATIO = 9;

/**
 * Holds containers to their limit of memory without any right: it looks at their processes and reports the one that uses
 * too much. Counted is what the kernel could not take back, as a cgroup counts it when it ends a container: anonymous,
 * shared and swapped pages of all processes of the group, and of all that descend from its leader. Pages that several of
 * them share, as after a fork, count once: that is looked at where the sum of all is above the limit. A process that has
 * left both is not counted. Linux only: elsewhere nothing is watched.
 */
export class MemoryWatch {
  readonly #bounds = new Set<MemoryBound>();
  readonly #clock: Clock;
  readonly #read: typeof readMemoryFile;
  #cancel: (() => void) | undefined;

  /** @param read of a file of `/proc/PID` for which the lock of its memory is taken */
  constructor(clock: Clock, read = readMemoryFile) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The result ends the watch. */
  watch(bound: MemoryBound): () => void {
    if (process.platform !== 'linux') return () => undefined;
    this.#bounds.add(bound);
    this.#schedule();
    return () => void this.#bounds.delete(bound);
  }

  #schedule(ms = LOOK_MS): void {
    this.#cancel ??= this.#clock.after(ms, () => {
      if (this.#bounds.size === 0) {
        this.#cancel = undefined;
        return;
      }
      // a machine without descriptors shows no processes: they are looked at again
      const worked = this.#look().catch(() => LOOK_MS);
      void worked.then((workedMs) => {
        this.#cancel = undefined;
        this.#schedule(Math.max(LOOK_MS, workedMs * REST_RATIO));
      });
    });
  }

  /** @returns how long it worked, in milliseconds */
  async #look(): Promise<number> {
    const pace = new Pace(this.#clock);
    const tree = await runningProcesses(pace);
    for (const bound of this.#bounds) {
      const pids = tree.below(bound.pid);
      let usedBytes = await sumOf(pids, usedBy, pace);
      if (usedBytes > bound.maxBytes) usedBytes = await this.#partsOf(pids, pace);
      if (usedBytes <= bound.maxBytes || !this.#bounds.delete(bound)) continue;
      bound.onExceeded(usedBytes);
    }
    return pace.workedMs;
  }

  /**
   * Of all together, each shared page once. Where stuck processes of others keep some from being asked, those count for
   * nothing and the largest process alone for all that it has: one that uses too much is found, and forks that share pages
   * are not.
   */
  async #partsOf(pids: ReadonlySet<number>, pace: Pace): Promise<number> {
    let hasUnasked = false;
    let largest = 0;
    const sum = await sumOf(
      pids,
      async (pid) => {
        const part = await this.#partUsedBy(pid, pace);
        largest = Math.max(largest, usedBy(pid));
        hasUnasked ||= part === UNASKED;
        return part === UNASKED ? 0 : part;
      },
      pace,
    );
    return hasUnasked ? Math.max(sum, largest) : sum;
  }

  /**
   * Each shared page divided by those who share it: a walk over all of its memory. All where the process, or another one of
   * its user, keeps that from being read: a wait that is no work, or the looks at all containers would come the later for it.
   */
  async #partUsedBy(pid: number, pace: Pace): Promise<number | typeof UNASKED> {
    const beganMs = this.#clock.monotonicMs();
    const parts = await this.#read(`/proc/${pid}/smaps_rollup`, this.#clock, async (readPiece) => {
      const buffer = Buffer.alloc(ROLLUP_BYTES);
      return buffer.toString('latin1', 0, await readPiece(buffer, 0));
    });
    if (parts === STUCK) pace.leaveOut(this.#clock.monotonicMs() - beganMs);
    if (parts === UNASKED) return UNASKED;
    return typeof parts === 'string' && parts.includes('Pss_Anon') ? bytesIn(parts, PARTS) : usedBy(pid);
  }
}

async function runningProcesses(pace: Pace): Promise<ProcessTree> {
  const tree = new ProcessTree();
  for (const pid of processNumbers()) {
    await pace.step();
    // after the name of the program, which may hold anything: state, parent, group
    const stat = textOf(`/proc/${pid}/stat`);
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    if (stat !== '') tree.add({ pid, parent: Number(parent), group: Number(group) });
  }
  return tree;
}

async function sumOf(
  pids: ReadonlySet<number>,
  bytesOf: (pid: number) => number | Promise<number>,
  pace: Pace,
): Promise<number> {
  let sum = 0;
  for (const pid of pids) {
    await pace.step();
    sum += await bytesOf(pid);
  }
  return sum;
}

const COUNTED = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm;
const PARTS = /^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB$/gm;

function usedBy(pid: number): number {
  return bytesIn(textOf(`/proc/${pid}/status`), COUNTED);
}

/** More than it ever is. */
const ROLLUP_BYTES = 16 << 10;

function bytesIn(text: string, counted: RegExp): number {
  return [...text.matchAll(counted)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
