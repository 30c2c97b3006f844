import type { Instant } from '#lib/time';

/** An export that has ended, as the API server held it. Objects are JSON of the resources. */
export interface ArchivedExport {
  /** Of the wire. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Word of the wire. */
  readonly status: string;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  /** The schedule that made it. */
  readonly sourceId?: string | undefined;
  /** ISO 8601; of a window of a schedule. */
  readonly windowEnd?: string | undefined;
  readonly object: string;
}

export interface ArchivedRun {
  /** Of the wire. */
  readonly id: string;
  /** Of the resource, by which its progress and files are found. */
  readonly uid: string;
  readonly startTime: string;
  readonly object: string;
}

/** Which archived exports are wanted; absent members do not matter. */
export interface ArchiveSearch {
  readonly statuses?: readonly string[] | undefined;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  readonly sourceId?: string | undefined;
  /** Ids that are left out: those that the API server holds still. */
  readonly except: readonly string[];
  readonly offset: number;
  readonly limit: number;
}

/** Exports that ended a while ago, with their runs. Progress and files of archived runs stay where they are. */
export interface ExportArchive {
  /** In one transaction; doing it again changes nothing. */
  store(tenantId: string, ended: ArchivedExport, runs: readonly ArchivedRun[]): Promise<void>;
  find(tenantId: string, id: string): Promise<ArchivedExport | undefined>;
  /** Newest first; of one second, those with the later name first. */
  list(tenantId: string, search: ArchiveSearch): Promise<readonly ArchivedExport[]>;
  /** By time of their window. */
  runs(tenantId: string, exportId: string): Promise<readonly ArchivedRun[]>;
  /** The end of the latest window that is archived of a schedule. */
  lastWindowEnd(tenantId: string, sourceId: string): Promise<Instant | undefined>;
}
