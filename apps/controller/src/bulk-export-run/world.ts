import type { ExportLimits } from '#lib/export-plan';
import type { BulkExport, BulkExportRun, Job, Pod } from '#lib/resources';
import type { ExportProgressRecord } from '#lib/trace-store';

/** Everything that one BulkExportRun depends on, read in one go. */
export interface ExportRunWorld {
  readonly run: BulkExportRun;
  /** The one that made the run; undefined when it was deleted, even if another export has its name now. */
  readonly bulkExport: BulkExport | undefined;
  /** How many unfinished runs of the export begin before this one. */
  readonly place: number;
  /** Runs that have begun and not ended, of all exports. */
  readonly atWork: { readonly all: number; readonly ofWorkspace: number };
  /** The Job of the attempt that the status names. */
  readonly job: Job | undefined;
  /** Its pods, once the Job has ended: they say how. */
  readonly pods: readonly Pod[];
  /** What the worker wrote down; undefined before the first claim. */
  readonly progress: ExportProgressRecord | undefined;
  /** The database's clock. */
  readonly now: Date;
  readonly limits: ExportLimits;
}
