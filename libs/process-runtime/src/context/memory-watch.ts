import { statFields } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { readMemoryFile, UNASKED } from '../strays/memory-file.js';
import { processNumbers, textOf } from '../strays/process-status.js';

/** A process, as `/proc/PID/stat` shows it. */
export interface TreeProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/** Processes of one moment by their parents and groups: looked through once, and asked for each container. */
export class ProcessTree {
  readonly #children = new Map<number, number[]>();
  readonly #groups = new Map<number, number[]>();

  add({ pid, parent, group }: TreeProcess): void {
    put(this.#children, parent, pid);
    put(this.#groups, group, pid);
  }

  /** The process, its group, and all that descend from one of them. */
  below(leader: number): ReadonlySet<number> {
    // a set also gives what is added while it is walked
    const found = new Set([leader, ...(this.#groups.get(leader) ?? [])]);
    for (const pid of found) for (const child of this.#children.get(pid) ?? []) found.add(child);
    return found;
  }
}

function put(lists: Map<number, number[]>, key: number, pid: number): void {
  const list = lists.get(key);
  if (list) list.push(pid);
  else lists.set(key, [pid]);
}

/** A container whose processes may use so much together. */
export interface MemoryBound {
  /** Leader of its process group. */
  readonly pid: number;
  readonly maxBytes: number;
  /** Called once. */
  readonly onExceeded: (usedBytes: number) => void;
}

/**
 * Interval of looks: long enough to cost nothing measurable, short enough that little is used beyond a limit.
 */
const LOOK_MS = 500;

/** A tenth of the node's one thread at most: pods choose how many processes are looked at. */
const REST_RATIO = 9;

/**
 * Maximum wait for answers per look and per container: each process chooses how long it holds the lock of its
 * memory, a container may have thousands of them, and a walk over much memory takes long as well.
 */
const MAX_WAIT_MS = { look: 6_000, container: 3_000 };

/**
 * Holds containers to their limit of memory without any right: it looks at their processes and reports the one that uses
 * too much. Counted is what the kernel could not take back, as a cgroup counts it when it ends a container: anonymous,
 * shared and swapped pages of all processes of the group, and of all that descend from its leader. Pages that several of
 * them share, as after a fork, count once: that is looked at where the sum of all is above the limit. A process that has
 * left both is not counted. Linux only: elsewhere nothing is watched.
 */
export class MemoryWatch {
  /** Earliest times for reading the parts of each again, on the monotonic clock. */
  readonly #bounds = new Map<MemoryBound, number>();
  #cancel: (() => void) | undefined;

  /** @param read of a file of `/proc/PID` for which the lock of its memory is taken */
  constructor(
    private readonly clock: Clock,
    private readonly read = readMemoryFile,
  ) {}

  /** The result ends the watch. */
  watch(bound: MemoryBound): () => void {
    if (process.platform !== 'linux') return () => undefined;
    this.#bounds.set(bound, 0);
    this.#schedule();
    return () => void this.#bounds.delete(bound);
  }

  #schedule(ms = LOOK_MS): void {
    this.#cancel ??= this.clock.after(ms, () => {
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

  /** @returns working time in milliseconds */
  async #look(): Promise<number> {
    const pace = new Pace(this.clock);
    const tree = await runningProcesses(pace);
    let waitedMs = 0;
    for (const [bound, againMs] of [...this.#bounds]) {
      const pids = tree.below(bound.pid);
      let usedBytes = await sumOf(pids, usedBy, pace);
      if (usedBytes > bound.maxBytes) {
        const mayAsk = waitedMs < MAX_WAIT_MS.look && againMs <= this.clock.monotonicMs();
        const parts = await this.#partsOf(pids, pace, mayAsk);
        usedBytes = parts.bytes;
        waitedMs += parts.waitedMs;
        if (mayAsk) this.#rest(bound, parts.waitedMs);
      }
      if (usedBytes <= bound.maxBytes || !this.#bounds.delete(bound)) continue;
      bound.onExceeded(usedBytes);
    }
    return pace.workedMs;
  }

  /**
   * Sets the pause before the next walk over a container's pages: walking must not be continuous, and others
   * come first.
   */
  #rest(bound: MemoryBound, waitedMs: number): void {
    // a process that was stopped meanwhile waited no longer
    const countedMs = Math.min(waitedMs, MAX_WAIT_MS.container);
    if (this.#bounds.delete(bound))
      this.#bounds.set(bound, this.clock.monotonicMs() + countedMs * REST_RATIO);
  }

  /**
   * Memory of all processes together, each shared page once. Where some cannot be read, because of stuck
   * processes of others or because it takes too long, those are left out and only the largest process counts,
   * with all its memory: a single process that uses too much is found, and forks that share pages are not.
   */
  async #partsOf(
    pids: ReadonlySet<number>,
    pace: Pace,
    mayAsk: boolean,
  ): Promise<{ readonly bytes: number; readonly waitedMs: number }> {
    let [hasUnasked, largest, waitedMs] = [false, 0, 0];
    const sum = await sumOf(
      pids,
      async (pid) => {
        largest = Math.max(largest, usedBy(pid));
        const beganMs = this.clock.monotonicMs();
        const isAsked = mayAsk && waitedMs < MAX_WAIT_MS.container;
        const part = isAsked ? await this.#partUsedBy(pid) : UNASKED;
        const tookMs = this.clock.monotonicMs() - beganMs;
        waitedMs += tookMs;
        // no work of this thread, or the looks at all containers would come the later for it
        pace.leaveOut(tookMs);
        hasUnasked ||= part === UNASKED;
        return part === UNASKED ? 0 : part;
      },
      pace,
    );
    return { bytes: hasUnasked ? Math.max(sum, largest) : sum, waitedMs };
  }

  /**
   * Each shared page divided by those who share it: a walk over all of its memory. All where the process, or another one of
   * its user, keeps that from being read.
   */
  async #partUsedBy(pid: number): Promise<number | typeof UNASKED> {
    const parts = await this.read(`/proc/${pid}/smaps_rollup`, this.clock, async (readPiece) => {
      const buffer = Buffer.alloc(ROLLUP_BYTES);
      return buffer.toString('latin1', 0, await readPiece(buffer, 0));
    });
    if (parts === UNASKED) return UNASKED;
    return typeof parts === 'string' && parts.includes('Pss_Anon') ? bytesIn(parts, PARTS) : usedBy(pid);
  }
}

async function runningProcesses(pace: Pace): Promise<ProcessTree> {
  const tree = new ProcessTree();
  for (const pid of processNumbers()) {
    await pace.step();
    const stat = textOf(`/proc/${pid}/stat`);
    const [, parent, group] = statFields(stat);
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

/** Maximum size of the file, more than it ever is. */
const ROLLUP_BYTES = 16 << 10;

function bytesIn(text: string, counted: RegExp): number {
  return [...text.matchAll(counted)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
