import { findCondition, isConditionTrue } from './condition.js';
import { CONDITION, REASON } from './condition-type.js';
import type { AgentDeployment } from './generated/agent-deployment.js';
import type { AgentRevision } from './generated/agent-revision.js';
import type { BulkExport } from './generated/bulk-export.js';
import type { BulkExportRun } from './generated/bulk-export-run.js';
import type { Condition } from './generated/shared.js';
import { isDeleting } from './kube-object.js';

export type DeploymentWireStatus = 'AWAITING_DATABASE' | 'READY' | 'UNUSED' | 'AWAITING_DELETE' | 'UNKNOWN';

export type RevisionWireStatus =
  | 'CREATING'
  | 'QUEUED'
  | 'AWAITING_BUILD'
  | 'BUILDING'
  | 'AWAITING_DEPLOY'
  | 'DEPLOYING'
  | 'DEPLOYED'
  | 'CREATE_FAILED'
  | 'BUILD_FAILED'
  | 'DEPLOY_FAILED'
  | 'SKIPPED'
  | 'INTERRUPTED'
  | 'UNKNOWN';

export type ExportWireStatus = 'CREATED' | 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TIMEDOUT';

/**
 * The status of a deployment on the wire. It does not report the health of its revisions, but for UNKNOWN:
 * their listener has stopped its heartbeats, so that their health is not known.
 */
export function deploymentWireStatus(
  deployment: Pick<AgentDeployment, 'metadata' | 'status'> & {
    readonly spec: { readonly suspend?: boolean };
  },
): DeploymentWireStatus {
  if (isDeleting(deployment)) return 'AWAITING_DELETE';
  if (!isConditionTrue(deployment.status?.conditions, CONDITION.databaseReady)) return 'AWAITING_DATABASE';
  if (deployment.spec.suspend) return 'UNUSED';
  const ready = findCondition(deployment.status?.conditions, CONDITION.ready);
  return ready?.status === 'Unknown' && ready.reason === REASON.noHeartbeat ? 'UNKNOWN' : 'READY';
}

/** Wire status by the reason of `Built` while it is unknown. */
const BUILDING: Readonly<Record<string, RevisionWireStatus>> = {
  [REASON.buildQueued]: 'QUEUED',
  [REASON.awaitingBuild]: 'AWAITING_BUILD',
  [REASON.building]: 'BUILDING',
};

/**
 * The status of a revision on the wire. One that was ever active stays DEPLOYED. CREATE_FAILED is a repeat of a revision that
 * does not exist: there was nothing to build.
 */
export function revisionWireStatus(revision: Pick<AgentRevision, 'status'>): RevisionWireStatus {
  const conditions = revision.status?.conditions;
  const built = findCondition(conditions, CONDITION.built);
  if (isConditionTrue(conditions, CONDITION.failed)) return 'DEPLOY_FAILED';
  if (isConditionTrue(conditions, CONDITION.superseded)) return 'SKIPPED';
  if (isConditionTrue(conditions, CONDITION.ready) || findCondition(conditions, CONDITION.active))
    return 'DEPLOYED';
  // a person suspended the deployment before the revision took over; it continues when that is taken back
  if (findCondition(conditions, CONDITION.ready)?.reason === REASON.suspended) return 'INTERRUPTED';
  if (built === undefined || built.status === 'Unknown') return BUILDING[built?.reason ?? ''] ?? 'CREATING';
  if (built.status === 'False')
    return built.reason === REASON.revisionMissing ? 'CREATE_FAILED' : 'BUILD_FAILED';
  return findCondition(conditions, CONDITION.workloadsReady) ? 'DEPLOYING' : 'AWAITING_DEPLOY';
}

/** True when a revision failed after it had taken over, so that an earlier one serves again. */
export function isRolledBack({ status }: Pick<AgentRevision, 'status'>): boolean {
  const active = findCondition(status?.conditions, CONDITION.active);
  return active?.reason === REASON.rolledBack && isConditionTrue(status?.conditions, CONDITION.failed);
}

/** The status of an export on the wire. */
export function exportWireStatus(
  bulkExport: Pick<BulkExport, 'status'> & {
    readonly spec: { readonly intervalHours?: number; readonly cancel?: boolean };
  },
): ExportWireStatus {
  const status = finishedStatus(bulkExport.status?.conditions);
  if (status) return status;
  // an export that is told to end is ended for its caller: nothing can bring it back
  if (bulkExport.spec.cancel) return 'CANCELLED';
  const isAccepted = isConditionTrue(bulkExport.status?.conditions, CONDITION.accepted);
  // a schedule that was accepted is live, whatever its exports wait for
  if (bulkExport.spec.intervalHours !== undefined)
    return isAccepted || bulkExport.status?.spawnedUntil !== undefined ? 'RUNNING' : 'CREATED';
  const runs = bulkExport.status?.runs;
  const hasBegun =
    bulkExport.status?.startedAt !== undefined || (runs?.running ?? 0) + (runs?.completed ?? 0) > 0;
  return isAccepted && hasBegun ? 'RUNNING' : 'CREATED';
}

/** The status of an export's run on the wire. Once an attempt has begun it is RUNNING to its end, also between two attempts. */
export function exportRunWireStatus({ status }: Pick<BulkExportRun, 'status'>): ExportWireStatus {
  const hasBegun = (status?.attempt ?? 0) > 0 || isConditionTrue(status?.conditions, CONDITION.running);
  return finishedStatus(status?.conditions) ?? (hasBegun ? 'RUNNING' : 'CREATED');
}

/** True when this status is final. */
export function isFinishedExport(status: ExportWireStatus): boolean {
  return status !== 'CREATED' && status !== 'RUNNING';
}

function finishedStatus(conditions: readonly Condition[] | undefined): ExportWireStatus | undefined {
  if (isConditionTrue(conditions, CONDITION.completed)) return 'COMPLETED';
  const failed = trueCondition(conditions, CONDITION.failed);
  if (!failed) return undefined;
  if (failed.reason === REASON.cancelled) return 'CANCELLED';
  return failed.reason === REASON.timedOut ? 'TIMEDOUT' : 'FAILED';
}

function trueCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  const found = findCondition(conditions, type);
  return found?.status === 'True' ? found : undefined;
}
