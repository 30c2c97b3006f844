import type { Instant } from '#lib/time';

/**
 * An export that has ended, as the API server held it. Objects are JSON of the resources. A tenant has so many bytes of
 * them; beyond that the oldest are answered as their small records.
 */
export interface ArchivedExport {
  /** Id in the API. */
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** Name in the API. */
  readonly status: string;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  /** The schedule that made it. */
  readonly sourceId?: string | undefined;
  /** The export that it continues. */
  readonly continuesId?: string | undefined;
  /** ISO 8601; of a window of a schedule. */
  readonly windowEnd?: string | undefined;
  readonly object: string;
}

/** Stored records of a resource: the full one, and the small one that is kept indefinitely. */
export interface ArchiveRecords {
  readonly object: string;
  /** The same without the parts that may be large. */
  readonly small: string;
}

export interface ArchivedRun {
  /** Id in the API. */
  readonly id: string;
  /** UID of the resource; its progress and files are found by it. */
  readonly uid: string;
  readonly startTime: string;
  readonly object: string;
}

/** Conditions on runs of an archived export. */
export interface ArchivedRunsPart {
  readonly id?: string | undefined;
  readonly offset?: number | undefined;
  /** Absent: all that are left. */
  readonly limit?: number | undefined;
}

/** A place in the list of exports. */
export interface ArchivePlace {
  readonly createdAt: string;
  readonly name: string;
  readonly id: string;
}

/** Conditions on archived exports; absent members do not matter. */
export interface ArchiveSearch {
  readonly status?: string | undefined;
  readonly destinationId?: string | undefined;
  readonly projectId?: string | undefined;
  readonly sourceId?: string | undefined;
  readonly continuesId?: string | undefined;
  /** Ids that are left out: those that the API server holds still. */
  readonly except: readonly string[];
  /** Position after which exports are listed. */
  readonly after?: ArchivePlace | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Exports that ended a while ago, with their runs. Progress and files of archived runs stay where they are. */
export interface ExportArchive {
  /**
   * Stores an export in one transaction; repeating it changes nothing. Afterwards the oldest exports of the
   * tenant that are beyond its bytes keep their small records alone: the rest of them is removed, with
   * progress and files of their runs.
   */
  store(
    tenantId: string,
    ended: ArchivedExport & ArchiveRecords,
    runs: readonly (ArchivedRun & ArchiveRecords)[],
  ): Promise<void>;
  find(tenantId: string, id: string): Promise<ArchivedExport | undefined>;
  /** The newest of a name. */
  findNamed(tenantId: string, name: string): Promise<ArchivedExport | undefined>;
  /**
   * Newest first; of one second, those with the later name first.
   * @throws PublicError bad_request when finding them takes too long
   */
  list(tenantId: string, search: ArchiveSearch): Promise<readonly ArchivedExport[]>;
  /** Runs by time of their window; all of them, which may be thousands, unless a part is asked for. */
  runs(tenantId: string, exportId: string, part?: ArchivedRunsPart): Promise<readonly ArchivedRun[]>;
  /** The end of the latest window that is archived of a schedule. */
  lastWindowEnd(tenantId: string, sourceId: string): Promise<Instant | undefined>;
}
