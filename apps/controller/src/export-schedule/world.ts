import type { Instant } from '#lib/time';
import type { BulkExport, BulkExportDestination, Workspace } from '#lib/resources';
import type { Project } from '#lib/trace-store';

/** Everything that one schedule depends on, read in one go. */
export interface ScheduleWorld {
  readonly schedule: BulkExport;
  readonly workspace: Workspace | undefined;
  readonly destination: BulkExportDestination | undefined;
  readonly project: Pick<Project, 'id' | 'name'> | undefined;
  /** The exports that it made and that exist. */
  readonly children: readonly BulkExport[];
  /** End of the latest window of those that are archived. */
  readonly archivedUntil?: Instant | undefined;
  /** The database's clock. */
  readonly now: Date;
  /** Most exports of a schedule that have not ended: those of the workspace that may run at a time. */
  readonly maxUnfinished: number;
}
