import { findCondition, isConditionTrue } from './condition.js';
import { CONDITION, REASON } from './condition-type.js';
import type { AgentDeployment } from './generated/agent-deployment.js';
import type { AgentRevision } from './generated/agent-revision.js';
import type { BulkExportRun } from './generated/bulk-export-run.js';
import type { BulkExport } from './generated/bulk-export.js';
import type { Condition } from './generated/shared.js';
import { isDeleting, type KubeObject } from './kube-object.js';
import { exportStatusReason, type StatusReason, statusReason } from './status-reason.js';
import { exportRunWireStatus, exportWireStatus, revisionWireStatus } from './wire-status.js';

/** Meaning of a state to a reader: fine, on its way, wrong, or nothing to care about. */
export type Tone = 'good' | 'busy' | 'bad' | 'quiet';

/** The state of a resource for people. */
export interface ShownState {
  /**
   * One CamelCase word: `status_reason` of REST and the column REASON of kubectl; `Deleting` while the resource is being
   * deleted, `Pending` until its controller has reported.
   */
  readonly word: string;
  readonly tone: Tone;
  /** The sentence behind it, `status_message` of REST; may be empty. */
  readonly message: string;
}

interface WithConditions extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Reasons that are no fault and do not pass by themselves. */
const QUIET: ReadonlySet<string> = new Set([
  REASON.suspended,
  REASON.replaced,
  REASON.scaledDown,
  REASON.asleep,
  REASON.cancelled,
  REASON.newerRevision,
]);

/** Reasons of a false `Ready` under which something is still going on, or will by itself. */
const BUSY: ReadonlySet<string> = new Set([
  REASON.pending,
  REASON.progressing,
  REASON.deploying,
  REASON.awaitingListener,
  REASON.waking,
  REASON.buildQueued,
  REASON.awaitingBuild,
  REASON.building,
  REASON.noRevision,
  REASON.workspaceMissing,
  REASON.queued,
  REASON.awaitingPlace,
  REASON.waitingForWindow,
  REASON.started,
  REASON.retrying,
  REASON.predecessorSettling,
  REASON.dependencyUnavailable,
  REASON.listenerMissing,
  REASON.revisionMissing,
  REASON.databaseStarting,
  REASON.deleting,
]);

/** Reasons of a true `Ready` under which there is still work to do. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  REASON.queued,
  REASON.waitingForWindow,
  REASON.started,
  REASON.retrying,
  REASON.catchingUp,
  REASON.progressing,
  REASON.pending,
  REASON.accepted,
  REASON.waking,
]);

/** The state of any kind that has a condition Ready. */
export function resourceState(object: WithConditions): ShownState {
  return stateOf(object, statusReason(object));
}

/** The state of a deployment. One that was rolled back serves, and is not what was asked for. */
export function deploymentState(deployment: Pick<AgentDeployment, 'metadata' | 'status'>): ShownState {
  const state = resourceState(deployment);
  const isRolledBack = isConditionTrue(deployment.status?.conditions, CONDITION.rolledBack);
  return isRolledBack && state.tone !== 'quiet' ? { ...state, tone: 'bad' } : state;
}

/** The state of a revision. It serves only while a pod of it is ready. */
export function revisionState(revision: Pick<AgentRevision, 'metadata' | 'status'>): ShownState {
  const state = resourceState(revision);
  const isFailed = revisionWireStatus(revision).endsWith('_FAILED');
  return isFailed && state.word !== REASON.deleting ? { ...state, tone: 'bad' } : state;
}

/** The state of an export or a schedule. */
export function exportState(bulkExport: Pick<BulkExport, 'metadata' | 'spec' | 'status'>): ShownState {
  const state = stateOf(bulkExport, exportStatusReason(bulkExport));
  return endedState(state, exportWireStatus(bulkExport));
}

/** The state of one run of an export. */
export function exportRunState(run: Pick<BulkExportRun, 'metadata' | 'status'>): ShownState {
  return endedState(resourceState(run), exportRunWireStatus(run));
}

function endedState(state: ShownState, wire: string): ShownState {
  if (state.word === REASON.deleting) return state;
  if (wire === 'COMPLETED') return { ...state, tone: 'good' };
  if (wire === 'CANCELLED') return { ...state, tone: 'quiet' };
  return wire === 'FAILED' || wire === 'TIMEDOUT' ? { ...state, tone: 'bad' } : state;
}

function stateOf(object: WithConditions, reason: StatusReason | undefined): ShownState {
  if (isDeleting(object)) return { word: REASON.deleting, tone: 'busy', message: reason?.message ?? '' };
  if (reason === undefined) return { word: REASON.pending, tone: 'busy', message: '' };
  return { word: reason.reason, tone: toneOf(object, reason.reason), message: reason.message };
}

function toneOf({ status }: WithConditions, word: string): Tone {
  if (QUIET.has(word)) return 'quiet';
  if (isConditionTrue(status?.conditions, CONDITION.failed)) return 'bad';
  const ready = findCondition(status?.conditions, CONDITION.ready)?.status;
  if (ready === 'True') return UNDER_WAY.has(word) ? 'busy' : 'good';
  return ready === 'Unknown' || BUSY.has(word) ? 'busy' : 'bad';
}
