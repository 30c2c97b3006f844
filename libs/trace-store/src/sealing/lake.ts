import type { LakeStore } from '../lake/segment-reader.js';

/** The longest read: objects that are not in force any more stay for so long at least. */
export const LONGEST_READ = '1 hour';

export interface LakeOptions extends LakeStore {
  /** Hours since the end of a day, and without any change of it, after which it is sealed. Default 24. */
  readonly quietHours?: number | undefined;
  /** Hours until the bytes of a deleted run have left the files. Default 24. */
  readonly eraseHours?: number | undefined;
  /** Hours for which objects that are not in force any more stay, for backups that name them. Default 1, the longest read. */
  readonly keptHours?: number | undefined;
  /** True where no other database writes below the prefix: files that no row names are deleted then. */
  readonly isOnlyWriter?: boolean | undefined;
  /** Maximum bytes of a file, exceeded by a row group at most. Default 512 MiB. */
  readonly fileBytes?: number | undefined;
}

/** A day of a project. */
export interface ProjectDay {
  readonly tenantId: string;
  readonly projectId: string;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
}

/** The result of sealing a day. */
export interface SealedDay extends ProjectDay {
  /** Runs whose payloads are in the day's files now. */
  readonly rows: number;
  /** Bytes of the files. */
  readonly bytes: number;
  /** Bytes of these that were copied from former files. */
  readonly copiedBytes: number;
  readonly files: number;
  /** Generation of the files. */
  readonly generation: number;
}

/** State of a project's day, for people. */
export interface LakeDay extends ProjectDay {
  /** Generation of the files in force; 0: none. */
  readonly generation: number;
  readonly isSealing: boolean;
  readonly sealedAt: Date | undefined;
  /** Runs whose payloads are in Postgres, when they were counted last. */
  readonly looseRows: number;
  readonly sealedRows: number;
  readonly sealedBytes: number;
  /** Rows of the files in force that are deleted or changed since. */
  readonly goneRows: number;
  /** Time until which the bytes of deleted runs have left the files. */
  readonly eraseBefore: Date | undefined;
  /** Failed attempts since the last successful one. */
  readonly attempts: number;
  readonly nextAt: Date | undefined;
  readonly error: string | undefined;
}

/** The table of Apache Iceberg over the sealed days of a project. */
export interface LakeTable {
  readonly projectId: string;
  readonly projectName: string;
  /** Version that readers are given; 0: none yet. */
  readonly version: number;
  /** Key of its metadata in the bucket of the lake. */
  readonly metadataKey: string | null;
  readonly publishedAt: Date | null;
  /** Time since when it does not show all sealed days; null: it does. */
  readonly behindSince: Date | null;
  /** Failed attempts since the last successful one. */
  readonly attempts: number;
  readonly nextAt: Date | null;
  readonly error: string | null;
}

/** Order of days in lists: the last day first. */
export interface LakeDaySearch {
  readonly projectId?: string | undefined;
  readonly limit: number;
  /** The last day of the page before. */
  readonly after?: Pick<ProjectDay, 'projectId' | 'day'> | undefined;
}

/** Days that are sealed: their payloads are in files of the object store instead of Postgres. */
export interface Lake {
  /** The bucket of the files. */
  readonly place: LakeStore;
  /** Looks for days that are due, notes them; the number of days and tables that wait for a worker. */
  look(): Promise<number>;
  /** Seals the next due day, if any; undefined: none is due. A failed day is noted, postponed and thrown. */
  sealNext(options: { readonly signal: AbortSignal }): Promise<SealedDay | undefined>;
  /** True while `tidy` has objects to delete. */
  hasGarbage(): Promise<boolean>;
  /** Publishes the tables of projects whose sealed days have changed. Failed ones are noted, postponed and thrown. */
  publish(options: { readonly signal: AbortSignal }): Promise<void>;
  /** Deletes objects that no row names any more. */
  tidy(): Promise<void>;
  /** A page of days, the last ones first, by day descending, then by project. */
  status(tenantId: string, search: LakeDaySearch): Promise<readonly LakeDay[]>;
  /** Tables of a tenant's projects, or of some of them. */
  tables(tenantId: string, projectIds?: readonly string[]): Promise<readonly LakeTable[]>;
}
