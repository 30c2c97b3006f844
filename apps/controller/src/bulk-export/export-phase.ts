import { isOlder } from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportRun,
  CONDITION,
  exportRunWireStatus,
  type ExportWireStatus,
  findCondition,
  isConditionTrue,
  REASON,
} from '#lib/resources';

/** True when an export or a run has ended, successfully or not. */
export function isFinished(object: Pick<BulkExport | BulkExportRun, 'status'>): boolean {
  const conditions = object.status?.conditions;
  return isConditionTrue(conditions, CONDITION.completed) || isConditionTrue(conditions, CONDITION.failed);
}

/** True when it makes exports and reads no rows itself. */
export function isSchedule({ spec }: Pick<BulkExport, 'spec'>): boolean {
  return spec.intervalHours !== undefined;
}

/** The states that runs are counted by. */
export type RunPhase = 'created' | 'running' | 'completed' | 'failed' | 'cancelled' | 'timedOut';

/** Phases by status on the wire, so that the counts of an export agree with its runs. */
const PHASES: Readonly<Record<ExportWireStatus, RunPhase>> = {
  CREATED: 'created',
  RUNNING: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
  TIMEDOUT: 'timedOut',
};

export function runPhase(run: Pick<BulkExportRun, 'status'>): RunPhase {
  return PHASES[exportRunWireStatus(run)];
}

/** Message of a run that waits for a place of the platform. */
export function placeAwaited(run: Pick<BulkExportRun, 'status'>): string | undefined {
  return messageOf(run, REASON.awaitingPlace);
}

/** Message of a run that cannot begin an attempt without credentials. */
export function credentialsAwaited(run: Pick<BulkExportRun, 'status'>): string | undefined {
  return messageOf(run, REASON.credentialsMissing);
}

/** Message of a run that has not ended and of which an attempt failed. */
export function retryReported(run: Pick<BulkExportRun, 'status'>): string | undefined {
  const running = isFinished(run) ? undefined : findCondition(run.status?.conditions, CONDITION.running);
  return running?.status === 'True' && running.reason === REASON.retrying ? running.message : undefined;
}

/** Message of a run that has not ended and is not at work for this reason. */
function messageOf(run: Pick<BulkExportRun, 'status'>, reason: string): string | undefined {
  const running = isFinished(run) ? undefined : findCondition(run.status?.conditions, CONDITION.running);
  return running?.status === 'False' && running.reason === reason ? running.message : undefined;
}

/**
 * True when runs of an export were made, or are about to be: its status shows it before the first one is
 * made.
 */
export function hasBegun({ status }: Pick<BulkExport, 'status'>): boolean {
  return (status?.runs?.total ?? 0) > 0;
}

/**
 * The place of an export among the unfinished ones of its workspace, from 0: behind those that have begun,
 * whatever their age, and behind older waiting ones. An export may begin by its place alone.
 */
export function queuePlace(bulkExport: BulkExport, ofWorkspace: readonly BulkExport[]): number {
  return ofWorkspace.filter(
    (other) =>
      other.metadata.name !== bulkExport.metadata.name &&
      !isFinished(other) &&
      !isSchedule(other) &&
      (hasBegun(other) || (isAccepted(other) && isOlder(other, bulkExport))),
  ).length;
}

/** Accepted and not waiting for its window to end, which may be weeks away. */
function isAccepted({ status }: BulkExport): boolean {
  const accepted = findCondition(status?.conditions, CONDITION.accepted);
  return accepted?.status === 'True' && accepted.reason !== REASON.waitingForWindow;
}
