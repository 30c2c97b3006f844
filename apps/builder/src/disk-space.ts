import { statfs } from 'node:fs/promises';
import type { Clock } from '#lib/time';
import { BuildError, DiskFullError } from './build-error.js';

/** Of a disk, or of a folder on it: bytes, and files with whatever else has a name (inodes). */
export interface DiskShare {
  readonly bytes: number;
  readonly files: number;
}

/** What is free of the disk that a folder lies on, and its whole size; `files` 0 where it has no bound of them. */
export interface DiskSpace {
  readonly free: DiskShare;
  readonly size: DiskShare;
}

/** A disk that builds must not fill. */
export interface WatchedDisk {
  /** What a message calls it. */
  readonly name: string;
  /** Whether a build cannot do without it: it does not begin when too little is free. */
  readonly isNeeded: boolean;
  readonly space: () => Promise<DiskSpace>;
}

/** A disk with what must stay free of it. */
export interface BoundedDisk extends WatchedDisk {
  readonly least: DiskShare;
}

/** Counting files takes long where there are many; this takes no time. */
const LOOK_MS = 1_000;
const FREE: DiskShare = { bytes: 2_147_483_648, files: 100_000 };
const FREE_SHARE = 0.1;
/** What a build may still take of a disk that has too little, and that it does not need. */
const BESIDE: DiskShare = { bytes: 104_857_600, files: 10_000 };
/** A build whose folder takes as much of what must stay free is one that filled the disk. */
const GROWN_SHARE = 0.5;

/** For users other than root. */
export async function spaceOf(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder);
  return { free: { bytes: bavail * bsize, files: ffree }, size: { bytes: blocks * bsize, files } };
}

/**
 * The disks with what must stay free: 10 %, but no more than 2 GB and 100,000 files. Of a disk that has less, and is not
 * needed, nearly what it has: a build must not fill it up.
 * @throws DiskFullError when a disk that is needed has less
 */
export async function boundDisks(disks: readonly WatchedDisk[]): Promise<readonly BoundedDisk[]> {
  return await Promise.all(
    disks.map(async (disk) => {
      const found = await disk.space();
      const usual = { ...disk, least: leastOf(found) };
      const problem = problemOf(usual, found);
      if (problem === undefined) return usual;
      if (disk.isNeeded) throw new DiskFullError(problem);
      return { ...disk, least: eachOf((what) => Math.min(usual.least[what], nearly(found.free, what))) };
    }),
  );
}

/**
 * Looks each second until the signal is aborted, or a disk has less free than it must have. Whatever took it: a file that
 * was removed and is still open, or lies where nothing counts it, is not found otherwise.
 * @param taken by the working folder, as far as it is known
 * @throws DiskFullError then, BuildError when the build took much of it itself
 */
export async function watchDisks(
  disks: readonly BoundedDisk[],
  taken: DiskShare,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<never> {
  for (;;) {
    await clock.sleep(LOOK_MS, signal);
    await requireRoom(disks, taken);
  }
}

/** Looks once. @throws what `watchDisks` throws */
export async function requireRoom(disks: readonly BoundedDisk[], taken: DiskShare): Promise<void> {
  for (const disk of disks) {
    const found = await disk.space();
    const problem = problemOf(disk, found);
    if (problem === undefined) continue;
    const what = findShort(disk, found) ?? 'bytes';
    // the working folder lies on the disk that is needed
    const hasGrown = disk.isNeeded && taken[what] > disk.least[what] * GROWN_SHARE;
    if (!hasGrown) throw new DiskFullError(problem);
    throw new BuildError(
      `${problem}; the working folder of this build has ${rendered(taken, 'bytes')} and ${rendered(taken, 'files')}`,
    );
  }
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

/** What a disk has too little of. */
function findShort({ least }: BoundedDisk, { free }: DiskSpace): keyof DiskShare | undefined {
  return (['bytes', 'files'] as const).find((what) => free[what] < least[what]);
}

/** Why a disk is full; undefined while it has enough. */
function problemOf(disk: BoundedDisk, found: DiskSpace): string | undefined {
  const what = findShort(disk, found);
  if (what === undefined) return undefined;
  const [has, left] = [found.free, disk.least].map((share) => rendered(share, what));
  return `${disk.name} has ${has} free, and builds leave ${left} to others: this build, another, or something else on the machine took it; remove files that are not needed`;
}

function rendered(share: DiskShare, what: keyof DiskShare): string {
  return what === 'bytes' ? `${megabytes(share.bytes)} MB` : `${Math.floor(share.files)} inodes`;
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / 1_048_576);
}
