import type { ExportLimits } from '#lib/export-plan';
import type { BulkExport, BulkExportDestination, BulkExportRun, Workspace } from '#lib/resources';
import type { Project } from '#lib/trace-store';

/** Everything that one BulkExport depends on, read in one go. */
export interface ExportWorld {
  readonly bulkExport: BulkExport;
  readonly workspace: Workspace | undefined;
  readonly destination: BulkExportDestination | undefined;
  readonly project: Project | undefined;
  /** Its own, by day. */
  readonly runs: readonly BulkExportRun[];
  /** Every export of the workspace, itself included. */
  readonly siblings: readonly BulkExport[];
  /** The database's clock. */
  readonly now: Date;
  /** The platform's limits with those of the workspace applied. */
  readonly limits: ExportLimits;
}
