import { statfsSync } from 'node:fs';

/** Free space below which nothing can be stored: Postgres takes its log of changes in files of 16 MB. */
const LEAST_FREE_BYTES = 16 * 1024 * 1024;

/**
 * Reason why nothing can be stored in a folder, in the one sentence with which every program reports it;
 * undefined while there is space. Also undefined when the folder cannot be looked at: that has a message of
 * its own.
 */
export function findDiskTrouble(folder: string): string | undefined {
  const free = freeBytes(folder);
  if (free === undefined || free >= LEAST_FREE_BYTES) return undefined;
  const left = Math.floor(free / 1024 / 1024);
  return `no space left on the disk of ${folder} (${left} MB free); free some, and everything goes on by itself`;
}

function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
