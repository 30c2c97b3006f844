// What processes cost, by /proc: a process with all that it has started.
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // the name in parentheses may hold blanks
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    parent: Number(fields[1]),
    cpuMs: ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND,
  };
}

/** @returns {number[]} the process and its descendants */
export function treeOf(root) {
  const parents = new Map();
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      parents.set(Number(name), statOf(name).parent);
    } catch {
      // ended meanwhile
    }
  }
  const tree = [root];
  for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
  return tree;
}

/** CPU time of each process of a tree so far, in milliseconds. */
export function cpuOf(root) {
  return new Map(treeOf(root).map((pid) => [pid, statOf(pid).cpuMs]));
}

/** Resident memory of a tree, or of some of its processes, in megabytes. */
export function residentOf(root, pids = treeOf(root)) {
  return pids.reduce((sum, pid) => {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    return sum + (pages * 4096) / 1e6;
  }, 0);
}

/**
 * Performs an operation while other trees of processes stand still, so that what they do without being asked is not
 * counted against the one that is measured.
 * @template T
 * @param {readonly number[]} roots @param {() => Promise<T>} operation @returns {Promise<T>}
 */
export async function withStopped(roots, operation) {
  const stopped = roots.flatMap(treeOf);
  const signal = (name) => {
    for (const pid of stopped) {
      try {
        process.kill(pid, name);
      } catch {
        // ended meanwhile
      }
    }
  };
  signal('SIGSTOP');
  try {
    return await operation();
  } finally {
    signal('SIGCONT');
  }
}
