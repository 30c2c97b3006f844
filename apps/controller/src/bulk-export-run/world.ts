import type { ExportLimits } from '#lib/export-plan';
import { type BulkExport, type BulkExportRun, exportJobName, type Job, type Pod } from '#lib/resources';
import type { ExportProgressRecord } from '#lib/trace-store';

/** Everything that one BulkExportRun depends on, read in one go. */
export interface ExportRunWorld {
  readonly run: BulkExportRun;
  /** The one that made the run; undefined when it was deleted, even if another export has its name now. */
  readonly bulkExport: BulkExport | undefined;
  /** Number of unfinished runs of the export that begin before this one. */
  readonly place: number;
  /** Runs that have begun and not ended, of all exports, and who waits for their places. */
  readonly atWork: {
    readonly all: number;
    readonly ofWorkspace: number;
    /** Number of other waiting workspaces that come first. */
    readonly ahead: number;
    /** Number of other waiting exports of the workspace that come first. */
    readonly exportsAhead: number;
  };
  /** The Job of the attempt in work; of the first one also the Job whose worker takes the run after others. */
  readonly job: Job | undefined;
  /** Its pods, once the Job has ended: they say how. */
  readonly pods: readonly Pod[];
  /** Progress that workers recorded; undefined before the first claim. */
  readonly progress: ExportProgressRecord | undefined;
  /** The database's clock. */
  readonly now: Date;
  readonly limits: ExportLimits;
}

/**
 * Number of the newest attempt, 0 before the first. A run that follows others in a worker is claimed by it, as attempt 1,
 * before the status says so.
 */
export function attemptOf({ run, progress }: Pick<ExportRunWorld, 'run' | 'progress'>): number {
  return Math.max(run.status?.attempt ?? 0, progress?.attempt ?? 0);
}

/**
 * The Job of the attempt in work. A worker that has the run after others does not count before it has claimed
 * the run: the start of an attempt, which the status names first, may have been cut short while such a worker
 * runs, or has ended.
 */
export function jobOfAttempt({ run, progress, job }: ExportRunWorld): Job | undefined {
  const isOwn = job?.metadata.name === exportJobName(run.metadata.uid ?? '', attemptOf({ run, progress }));
  return isOwn || (progress?.attempt ?? 0) > 0 ? job : undefined;
}
