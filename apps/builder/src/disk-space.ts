import { statfs } from 'node:fs/promises';
import type { Clock } from '#lib/time';
import {
  type BoundedDisk,
  BuildError,
  DiskFullError,
  type DiskShare,
  type DiskSpace,
  type Shortage,
  type WatchedDisk,
} from './build-error.js';

/** Counting files takes long where there are many; this takes microseconds, and `fallocate` fills a disk in milliseconds. */
const LOOK_MS = 50;
const FREE: DiskShare = { bytes: 2_147_483_648, files: 100_000 };
const FREE_SHARE = 0.1;
/** Space that a build may still take of a disk that has too little, and that it does not need. */
const BESIDE: DiskShare = { bytes: 104_857_600, files: 10_000 };
/** A build whose folders take as much of what must stay free is one that filled the disk. */
const GROWN_SHARE = 0.5;

/** Space for users other than root. */
export async function spaceOf(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
  return { free: { bytes: bavail * bsize, files: ffree }, size: { bytes: blocks * bsize, files } };
}

/**
 * The disks with the space that must stay free: 10 %, but no more than 2 GB and 100,000 files. On a disk that
 * has less, and is not needed, nearly all of its free space must stay: a build must not fill it up.
 * @throws DiskFullError when a disk that is needed has less
 */
export async function boundDisks(disks: readonly WatchedDisk[]): Promise<readonly BoundedDisk[]> {
  return await Promise.all(
    disks.map(async (disk) => {
      const found = await disk.space();
      const usual = { ...disk, least: leastOf(found) };
      const shortage = findShortage(usual, found);
      if (!shortage) return usual;
      if (disk.isNeeded) throw new DiskFullError(shortage);
      return { ...disk, least: eachOf((what) => Math.min(usual.least[what], nearly(found.free, what))) };
    }),
  );
}

/**
 * Checks twenty times a second until the signal is aborted, or a disk has less free than it must have. This
 * finds every cause: a file that was removed and is still open, or is not counted anywhere, is not found
 * otherwise.
 * @throws DiskFullError then
 */
export async function watchDisks(
  disks: readonly BoundedDisk[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<never> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal);
    await requireRoom(disks);
  }
}

/** Looks once. @throws the errors of `watchDisks` */
export async function requireRoom(disks: readonly BoundedDisk[]): Promise<void> {
  for (const disk of disks) {
    const shortage = findShortage(disk, await disk.space());
    if (shortage) throw new DiskFullError(shortage);
  }
}

/**
 * The error of a full disk for the build that looked: a final one where much of the missing space is in its
 * own folders.
 * @param taken by these folders
 */
export function judged(error: DiskFullError, taken: DiskShare): BuildError {
  const { disk, what, problem } = error.shortage;
  // the folders are on the disk that is needed
  if (!disk.isNeeded || taken[what] <= disk.least[what] * GROWN_SHARE) return error;
  const own = `${rendered(taken, 'bytes')} and ${rendered(taken, 'files')}`;
  return new BuildError(`${problem}; the working folder of this build has ${own}`, { cause: error });
}

function leastOf({ size }: DiskSpace): DiskShare {
  return eachOf((what) => Math.min(FREE[what], size[what] * FREE_SHARE));
}

/** Never all that is left, however little. */
function nearly(free: DiskShare, what: keyof DiskShare): number {
  return Math.max(free[what] - BESIDE[what], free[what] / 2);
}

function eachOf(share: (what: keyof DiskShare) => number): DiskShare {
  return { bytes: share('bytes'), files: share('files') };
}

function findShortage(disk: BoundedDisk, { free }: DiskSpace): Shortage | undefined {
  const { name, least } = disk;
  const what = (['bytes', 'files'] as const).find((one) => free[one] < least[one]);
  if (what === undefined) return undefined;
  const [has, left] = [free, least].map((share) => rendered(share, what));
  const problem = `${name} has ${has} free, and builds leave ${left} to others: this build, another, or something else on the machine took it; remove files that are not needed`;
  return { disk, what, problem };
}

function rendered(share: DiskShare, what: keyof DiskShare): string {
  return what === 'bytes' ? `${megabytes(share.bytes)} MB` : `${Math.floor(share.files)} inodes`;
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_048_576);
}
