import type { ExportLimits } from '#lib/export-plan';
import type { BulkExport, BulkExportDestination, BulkExportRun, Workspace } from '#lib/resources';
import type { Project } from '#lib/trace-store';

/** The export that is continued. */
export interface PredecessorWorld {
  /** Undefined when the workspace has none of the id. */
  readonly bulkExport: BulkExport | undefined;
  readonly runs: readonly Pick<BulkExportRun, 'metadata' | 'spec'>[];
  /** Other exports that continue the same one, whatever became of them. */
  readonly others: readonly BulkExport[];
  /** True when it will not change any more: its runs have ended, and their leftovers were cleared away. */
  readonly isSettled: boolean;
}

/** An export whose late runs are exported. */
export interface FormerWorld {
  /** Undefined when the workspace has none of the id. */
  readonly bulkExport: BulkExport | undefined;
  readonly runs: readonly Pick<BulkExportRun, 'metadata' | 'spec'>[];
}

/** Everything that one BulkExport depends on, read in one go. */
export interface ExportWorld {
  readonly bulkExport: BulkExport;
  readonly workspace: Workspace | undefined;
  readonly destination: BulkExportDestination | undefined;
  readonly project: Project | undefined;
  /** Its own, by day. */
  readonly runs: readonly BulkExportRun[];
  /** True when a worker of one of them has not ended; it may be between two runs. */
  readonly hasWorker: boolean;
  /** Undefined for an export that continues none, and once its runs are made. */
  readonly predecessor?: PredecessorWorld | undefined;
  /** Undefined for an export of no late runs, and once its runs are made. */
  readonly lateOf?: FormerWorld | undefined;
  /** Every export of the workspace, itself included. */
  readonly siblings: readonly BulkExport[];
  /** The database's clock. */
  readonly now: Date;
  /** The platform's limits with those of the workspace applied. */
  readonly limits: ExportLimits;
}
