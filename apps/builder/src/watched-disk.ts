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

/** What a disk has too little of. */
export interface Shortage {
  readonly disk: BoundedDisk;
  readonly what: keyof DiskShare;
  readonly problem: string;
}
