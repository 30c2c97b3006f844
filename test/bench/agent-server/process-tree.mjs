// What processes cost, by /proc: a process with all that it has started.
import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // the name in parentheses may hold blanks
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const msOf = (at) => (Number(fields[at]) * 1000) / TICKS_PER_SECOND;
  return { parent: Number(fields[1]), cpuMs: msOf(11) + msOf(12), endedMs: msOf(13) + msOf(14) };
}

/** The result of a look at a process that may have ended; undefined then. */
function ifAlive(look) {
  try {
    return look();
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
    throw error;
  }
}

/** Facts about each process of a tree. Each is read once, since any but the root may end at any time. */
function readTree(root) {
  const found = new Map();
  for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = ifAlive(() => statOf(name));
    if (stat) found.set(Number(name), stat);
  }
  const tree = new Map([[root, found.get(root) ?? statOf(root)]]);
  for (const [pid] of tree) for (const [child, stat] of found) if (stat.parent === pid) tree.set(child, stat);
  return tree;
}

/** @returns {number} the parent of a process */
export function parentOf(pid) {
  return statOf(pid).parent;
}

/** @returns {number[]} the process and its descendants */
export function treeOf(root) {
  return [...readTree(root).keys()];
}

/** CPU time of each process of a tree so far, in milliseconds. */
export function cpuOf(root) {
  return new Map([...readTree(root)].map(([pid, { cpuMs }]) => [pid, cpuMs]));
}

/** CPU time of a tree so far and of the root's children that have ended, in milliseconds. */
export function wholeCpuOf(root) {
  const tree = readTree(root);
  return [...tree.values()].reduce((sum, { cpuMs }) => sum + cpuMs, tree.get(root).endedMs);
}

/** Resident memory of a tree, or of some of its processes, in megabytes. */
export function residentOf(root, pids = treeOf(root)) {
  return pids.reduce((sum, pid) => {
    const statm = ifAlive(() => readFileSync(`/proc/${pid}/statm`, 'utf8'));
    return sum + (Number(statm?.split(' ')[1] ?? 0) * 4096) / 1e6;
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
