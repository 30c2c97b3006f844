import { readFileSync } from 'node:fs';
import { descendants } from './process-tree.js';

/** Proportional set size of one process in megabytes. */
export function megabytesOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss: +(\d+)/m.exec(text)?.[1]) / 1024;
}

/** Processor time so far of a process, those below it, and those that ended below it, in milliseconds. */
export function cpuMsOf(root: number): number {
  const all = [root, ...descendants(root).map(({ pid }) => pid)];
  return all.reduce((sum, pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // utime, stime and the two of children that were waited for, in hundredths of a second
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return sum + 10 * fields.slice(11, 15).reduce((part, field) => part + Number(field), 0);
    } catch {
      return sum; // ended meanwhile
    }
  }, 0);
}
