import {
  countPartitions,
  type ExportLimits,
  findContinuationProblem,
  findLateRunsProblem,
  isDeletedByForce,
  isExportOverdue,
  MAX_PARTITIONS,
  overdueText,
  type Partition,
  partitionByDay,
  resolveWindow,
  type Window,
} from '#lib/export-plan';
import { findFilterProblem } from '#lib/filter-language';
import { isStatusCurrent } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  CONDITION,
  idOf,
  isConditionTrue,
  isDeleting,
  REASON,
  statusReason,
  type Workspace,
} from '#lib/resources';
import { formatInstant, instantOf } from '#lib/time';
import type { Project } from '#lib/trace-store';
import { hasBegun, isFinished, queuePlace, runPhase } from './export-phase.js';

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

/** Late rows: an export whose end was in the future when it was made begins this long after it. */
const SETTLE_MICROS = 600_000_000n;
/** Clients send runs in batches: the last runs of the window arrive within this time after its end. */
const ARRIVAL_MICROS = 3_000_000n;
/** Creation times are whole seconds: an export "until now" does not end ahead. */
const SECOND_MICROS = 1_000_000n;

const RUNS_OF_PASS = 100;
/** A worker has some seconds to stop, and a look each minute clears away what it left. */
const SETTLING_LOOK_MS = 5_000;

/** An export that ends, a limit that is raised and a destination that changes wake the first of the queue. */
const QUEUED_LOOK_MS = 600_000;

/** Next step for an export. */
export type ExportDecision =
  /** The export has ended; its decision is final. */
  | { readonly kind: 'finished' }
  /** Something is missing that may still arrive. */
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string; readonly ms: number }
  /** The export fails, whatever its runs have done. */
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string }
  | { readonly kind: 'cancel' }
  /** The window is known: note it and make the runs that are missing. */
  | {
      readonly kind: 'run';
      readonly window: Window;
      readonly projectId: string;
      readonly missing: readonly Partition[];
      /** The missing runs that are made now: exports of others wait while one is worked on. */
      readonly next: readonly Partition[];
    }
  | { readonly kind: 'complete' };

/** Reason why an export does not begin: not yet, or never. */
export type Obstacle = ExportDecision & { readonly kind: 'wait' | 'fail' };

function fail(reason: string, message: string): Obstacle {
  return { kind: 'fail', reason, message };
}

function wait(reason: string, message: string, ms = 30_000): Obstacle {
  return { kind: 'wait', reason, message, ms };
}

const NO_WORKSPACE = wait(REASON.workspaceMissing, 'the namespace belongs to no Workspace');

/** Checks plan, filter, destination and project before anything is read, or a schedule makes an export. */
export function decideAcceptance({
  bulkExport,
  workspace,
  destination,
  project,
}: Pick<ExportWorld, 'bulkExport' | 'workspace' | 'destination'> & {
  readonly project: Pick<Project, 'id'> | undefined;
}): Obstacle | undefined {
  const { spec } = bulkExport;
  if (!workspace) return NO_WORKSPACE;
  if (workspace.spec.plan === 'developer')
    return fail(REASON.planNotAllowed, 'bulk export needs the plan plus or enterprise');
  const problem = spec.filter === undefined ? undefined : findFilterProblem(spec.filter);
  if (problem) return fail(REASON.invalidFilter, problem.message);
  if (!destination || isDeleting(destination))
    return wait(
      REASON.destinationMissing,
      `BulkExportDestination ${spec.destinationRef.name} ${destination ? 'is being deleted' : 'does not exist'}`,
    );
  // right after a change of the destination, its status still describes the former one
  if (!isStatusCurrent(destination) || !isConditionTrue(destination.status?.conditions, CONDITION.validated))
    return wait(
      REASON.destinationNotReady,
      `BulkExportDestination ${spec.destinationRef.name} cannot be used: ${notReadyText(destination)}`,
    );
  if (!project) {
    const { name, id } = spec.tracingProject;
    return wait(REASON.projectMissing, `tracing project ${name ?? id ?? ''} does not exist`);
  }
  return undefined;
}

/** Checks the preconditions for adopting the result of another export. */
function decideContinuation({
  bulkExport,
  predecessor,
  project,
  destination,
}: ExportWorld): Obstacle | undefined {
  const { continues } = bulkExport.spec;
  if (!continues || !predecessor) return undefined;
  const { bulkExport: former, runs, others, isSettled } = predecessor;
  const problem = findContinuationProblem({
    id: continues.id,
    predecessor: former,
    others,
    continuation: bulkExport,
    runs,
    destination: destination?.spec.config,
  });
  if (problem) return fail(problem.reason, problem.message);
  if (project && project.id !== former?.status?.tracingProjectId)
    return fail(
      REASON.notContinuable,
      `continuing export ${continues.id} failed: spec.tracingProject is another than that of the export; give it the same, or make a new export`,
    );
  if (!isSettled)
    return wait(
      REASON.predecessorSettling,
      `export ${continues.id} has ended, and what its last attempts left in the bucket is still being cleared away`,
      SETTLING_LOOK_MS,
    );
  return undefined;
}

/** Checks the preconditions for an export of late runs. */
function decideLate({ bulkExport, lateOf, project }: ExportWorld): Obstacle | undefined {
  const { lateRunsOf } = bulkExport.spec;
  if (!lateRunsOf || !lateOf) return undefined;
  const { bulkExport: former, runs } = lateOf;
  const problem = findLateRunsProblem({ id: lateRunsOf.id, former, runs, late: bulkExport });
  if (problem) return fail(problem.reason, problem.message);
  if (project && project.id !== former?.status?.tracingProjectId)
    return fail(
      REASON.lateRunsUnknown,
      `finding the late runs of export ${lateRunsOf.id} failed: spec.tracingProject is another than that of the export; give it the same, or make a new export`,
    );
  return undefined;
}

function notReadyText(destination: BulkExportDestination): string {
  const { message = '' } = isStatusCurrent(destination) ? (statusReason(destination) ?? {}) : {};
  return message === '' ? 'it was not tested yet' : message;
}

/**
 * The window, resolved once: `last` counts from the creation, and a window in the status is never computed
 * again.
 */
function decideWindow({ bulkExport, predecessor, lateOf }: ExportWorld): Window | ExportDecision {
  const { spec, status, metadata } = bulkExport;
  const formers = [predecessor?.bulkExport, lateOf?.bulkExport].map((one) => one?.status);
  const resolved = [status, ...formers].find((one) => one?.startTime !== undefined);
  const wanted =
    resolved?.startTime !== undefined && resolved.endTime !== undefined
      ? { startTime: resolved.startTime, endTime: resolved.endTime }
      : {
          ...(spec.last === undefined ? {} : { last: spec.last }),
          ...(spec.startTime === undefined ? {} : { startTime: spec.startTime }),
          ...(spec.endTime === undefined ? {} : { endTime: spec.endTime }),
        };
  const decision = resolveWindow(wanted, instantOf(new Date(metadata.creationTimestamp ?? 0)));
  if (decision.kind === 'refused') return fail(REASON.invalidWindow, decision.message);
  const days = countPartitions(decision.window);
  if (days > MAX_PARTITIONS)
    return fail(
      REASON.invalidWindow,
      `the window spans ${days} days; at most ${MAX_PARTITIONS} are exported at once`,
    );
  return decision.window;
}

/** Time at which the rows of a window have arrived. */
function beginOf({ bulkExport: { metadata, spec } }: ExportWorld, window: Window): bigint {
  const { sourceExport } = spec;
  if (spec.last !== undefined || sourceExport?.runRequestId !== undefined) return window.end + ARRIVAL_MICROS;
  // its creation time is the API server's, and the window of a schedule ends by the database's clock
  if (sourceExport) return window.end + SETTLE_MICROS;
  const created = instantOf(new Date(metadata.creationTimestamp ?? 0));
  return created + SECOND_MICROS <= window.end ? window.end + SETTLE_MICROS : window.end;
}

function decideRunning(world: ExportWorld, window: Window, projectId: string): ExportDecision {
  const { runs, limits, siblings, bulkExport, now } = world;
  const begin = beginOf(world, window);
  const untilMs = Number((begin - instantOf(now)) / 1000n);
  if (runs.length === 0 && untilMs > 0) {
    const pause = begin - window.end === ARRIVAL_MICROS ? 'three seconds' : 'ten minutes';
    return wait(
      REASON.waitingForWindow,
      `the window ends at ${formatInstant(window.end, 'if-any')}; ` +
        `the export begins ${pause} later, at ${formatInstant(begin, 'if-any')}`,
      Math.max(200, untilMs),
    );
  }
  const most = limits.concurrentExportsPerWorkspace;
  const place = runs.length === 0 && !hasBegun(bulkExport) ? queuePlace(bulkExport, siblings) : 0;
  if (place >= most)
    return wait(
      REASON.queued,
      `queued: the workspace has ${most} exports at work, the most it may`,
      QUEUED_LOOK_MS,
    );
  const made = new Set(runs.map((run) => run.spec.startTime));
  const missing = partitionByDay(window).filter(({ start }) => !made.has(formatInstant(start, 'if-any')));
  const end = missing.length > 0 ? undefined : (decideEnd(world) ?? decideDestination(world));
  if (end) return end;
  // a run names the tenant: none is made while the Workspace is being deleted
  if (missing.length > 0 && !world.workspace) return NO_WORKSPACE;
  if (missing.length > 0 && bulkExport.spec.continues && !world.predecessor?.bulkExport)
    return decideContinuation(world) ?? NO_WORKSPACE;
  if (missing.length > 0 && bulkExport.spec.lateRunsOf && !world.lateOf?.bulkExport)
    return decideLate(world) ?? NO_WORKSPACE;
  return (
    (missing.length > 0 && decideDestination(world)) || {
      kind: 'run',
      window,
      projectId,
      missing,
      next: missing.slice(0, RUNS_OF_PASS),
    }
  );
}

/**
 * Deleting a destination stops what is written to it, and what was accepted to be: one that replaced it under its name is
 * another.
 */
function decideDestination({ bulkExport, destination, runs }: ExportWorld): Obstacle | undefined {
  const began = bulkExport.status?.destinationId;
  if (runs.length === 0 && began === undefined) return undefined;
  const isSame = began === undefined || (destination && idOf(destination)) === began;
  if (destination && !isDeletedByForce(destination) && isSame) return undefined;
  return fail(
    REASON.destinationDeleted,
    `BulkExportDestination ${bulkExport.spec.destinationRef.name} was deleted while the export was ` +
      `${runs.length === 0 ? 'waiting' : 'running'}; create the destination again and a new export`,
  );
}

/** One run that failed for good fails the export. */
function decideEnd({ runs, bulkExport, now, limits }: ExportWorld): ExportDecision | undefined {
  const phases = runs.map(runPhase);
  const failed = runs.find((run) => runPhase(run) === 'failed');
  if (failed) return fail(REASON.runFailed, `day ${failed.metadata.name} failed: ${failureText(failed)}`);
  // runs check the time-out themselves, and may be first
  if (phases.includes('timedOut')) return fail(REASON.timedOut, overdueText(limits));
  const cancelled = runs.find((run) => runPhase(run) === 'cancelled');
  if (cancelled) return fail(REASON.runFailed, `day ${cancelled.metadata.name} was cancelled`);
  if (phases.every((phase) => phase === 'completed')) return { kind: 'complete' };
  const startedAt = bulkExport.status?.startedAt;
  if (startedAt !== undefined && isExportOverdue(Date.parse(startedAt), now.getTime(), limits))
    return fail(REASON.timedOut, overdueText(limits));
  return undefined;
}

function failureText({ status }: ExportWorld['runs'][number]): string {
  return (
    status?.conditions?.find(({ type }) => type === CONDITION.failed)?.message ?? 'no cause was reported'
  );
}

/** Decides an export. Pure: the same world gives the same answer. */
export function decideExport(world: ExportWorld): ExportDecision {
  const { bulkExport } = world;
  if (isFinished(bulkExport)) return { kind: 'finished' };
  if (bulkExport.spec.cancel) return { kind: 'cancel' };
  const isUnderWay = world.runs.length > 0;
  // the runs keep the settings that the export began with: a destination that changes later no longer
  // matters, unless it is deleted
  const obstacle = isUnderWay
    ? undefined
    : (decideDestination(world) ?? decideAcceptance(world) ?? decideContinuation(world) ?? decideLate(world));
  if (obstacle) return obstacle;
  const window = decideWindow(world);
  if ('kind' in window) return window;
  const projectId =
    bulkExport.status?.tracingProjectId ?? world.project?.id ?? world.runs[0]?.spec.projectId ?? '';
  return decideRunning(world, window, projectId);
}
