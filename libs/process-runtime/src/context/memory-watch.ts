import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '#lib/time';

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

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
}

/**
 * Holds containers to their limit of memory without any right: it looks at their processes and reports the one that uses
 * too much. Counted is what the kernel could not take back, as a cgroup counts it when it ends a container: anonymous,
 * shared and swapped pages of all processes of the group, and of all that descend from its leader. A process that has left
 * both is not counted. Linux only: elsewhere nothing is watched.
 */
export class MemoryWatch {
  readonly #bounds = new Set<MemoryBound>();
  readonly #clock: Clock;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The result ends the watch. */
  watch(bound: MemoryBound): () => void {
    if (process.platform !== 'linux') return () => undefined;
    this.#bounds.add(bound);
    this.#schedule();
    return () => void this.#bounds.delete(bound);
  }

  #schedule(): void {
    this.#cancel ??= this.#clock.after(LOOK_MS, () => {
      this.#cancel = undefined;
      if (this.#bounds.size === 0) return;
      this.#look();
      this.#schedule();
    });
  }

  #look(): void {
    const all = runningProcesses();
    for (const bound of this.#bounds) {
      const usedBytes = processesOf(bound.pid, all).reduce((sum, { pid }) => sum + usedBy(pid), 0);
      if (usedBytes <= bound.maxBytes) continue;
      this.#bounds.delete(bound);
      bound.onExceeded(usedBytes);
    }
  }
}

function runningProcesses(): readonly Process[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    // after the name of the program, which may hold anything: state, parent, group
    const stat = textOf(`/proc/${pid}/stat`);
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    return stat === '' ? [] : [{ pid, parent: Number(parent), group: Number(group) }];
  });
}

function processesOf(leader: number, all: readonly Process[]): readonly Process[] {
  const found = new Set([leader]);
  // parents may have higher numbers than their children, once numbers begin anew
  for (let before = 0; before < found.size;) {
    before = found.size;
    for (const { pid, parent, group } of all) if (group === leader || found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

const COUNTED = /^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB$/gm;

function usedBy(pid: number): number {
  const status = textOf(`/proc/${pid}/status`);
  return [...status.matchAll(COUNTED)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // gone
  }
}
