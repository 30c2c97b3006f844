import { lstatSync, readFileSync } from 'node:fs';

const STICKY = 0o1000;

/**
 * True when a folder is the pod's own, and not the machine's, which has a sticky bit for all its users. One
 * in which something of the machine is mounted (a data folder below `/tmp`) is not: its content must neither
 * be counted nor removed.
 */
export function hasOwnFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true || found.uid !== process.getuid?.() || (found.mode & STICKY) !== 0)
    return false;
  const places = mountPoints();
  return places.includes(path) && !places.some((place) => place.startsWith(`${path}/`));
}

function mountPoints(): readonly string[] {
  try {
    const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return lines.map((line) => line.split(' ')[4] ?? '');
  } catch {
    return []; // no Linux
  }
}
