import { DISK_FULL } from '#lib/lifecycle';
import { REASON } from '#lib/resources';

/** Share of a disk, or of a folder on it: bytes, and files with everything else that has a name (inodes). */
export interface DiskShare {
  readonly bytes: number;
  readonly files: number;
}

/** Free space of a folder's disk, and its whole size; `files` 0 where their number has no limit. */
export interface DiskSpace {
  readonly free: DiskShare;
  readonly size: DiskShare;
}

/** A disk that builds must not fill. */
export interface WatchedDisk {
  /** Name in messages. */
  readonly name: string;
  /** True when a build needs it: it does not begin when too little is free. */
  readonly isNeeded: boolean;
  readonly space: () => Promise<DiskSpace>;
}

/** A disk with what must stay free of it. */
export interface BoundedDisk extends WatchedDisk {
  readonly least: DiskShare;
}

/** Lack of space on a disk. */
export interface Shortage {
  readonly disk: BoundedDisk;
  readonly what: keyof DiskShare;
  readonly problem: string;
}

/** Reason why a build ended, as a sentence for the people whose repository it is. */
export class BuildError extends Error {
  override readonly name: string = 'BuildError';
  /** Reason in the termination message, from which the controller derives the outcome. */
  readonly reason: string = REASON.buildFailed;
}

/** A disk has too little free, and not because of this build, as far as it is known: another time it may be built. */
export class DiskFullError extends BuildError {
  override readonly name = 'DiskFullError';
  override readonly reason = DISK_FULL;
  readonly shortage: Shortage;

  constructor(shortage: Shortage) {
    super(shortage.problem);
    this.shortage = shortage;
  }
}
