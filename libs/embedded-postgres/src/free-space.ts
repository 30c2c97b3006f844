import { statfsSync } from 'node:fs';

const MB = 1024 * 1024;

/** Space for a new cluster, the platform's databases and their first log files, with some reserve. */
export const NEW_CLUSTER_BYTES = 120 * MB;

/**
 * Refuses a disk that cannot hold the new files: the program that makes them would report it in its own
 * words, after some seconds.
 * @throws Error with the free and the needed space
 */
export function requireSpace(folder: string, neededBytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new Error(
    `the disk of ${folder} is too small: ${Math.floor(freeBytes / MB)} MB free, ${Math.ceil(neededBytes / MB)} MB needed for a new database; free some space or name a folder on another disk with --data DIR`,
  );
}
