import { Module } from '@nestjs/common';
import { followingRunsOf, isOlder, isQueued } from '#lib/export-plan';
import {
  type Change,
  type ControllerSpec,
  EventRecorder,
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  KubeClient,
  passSubject,
  type Reader,
} from '#lib/kube';
import {
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type Job,
  keyOf,
  type ObjectKey,
  parseKey,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { type Caches, exportsOfJob } from '../caches.js';
import { type ControllerConfig, exportLimits } from '../config.js';
import { CACHES, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { isJobFinished } from '../ended-jobs.js';
import { BulkExportReconciler } from './bulk-export-reconciler.js';
import { hasBegun, isFinished } from './export-phase.js';

/**
 * True when the queue of a workspace may advance: an export has ended, or the first that waited has begun, or
 * waits for something else now. Exports in the queue do not poll.
 */
export function movesQueue(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return change.kind === 'deleted';
  const { before, object } = change;
  return (
    (isFinished(object) && !isFinished(before)) ||
    (hasBegun(object) && !hasBegun(before)) ||
    (isQueued(before) && !isQueued(object))
  );
}

/** The export of the workspace that comes next: the first of those that wait for others to end. */
export function nextExport(
  { metadata: { namespace } }: BulkExport,
  exports: Pick<Reader<BulkExport>, 'list'>,
): readonly ObjectKey[] {
  let first: BulkExport | undefined;
  for (const one of exports.list(namespace))
    if (isQueued(one) && (!first || isOlder(one, first))) first = one;
  return first ? [keyOf(first)] : [];
}

export const BULK_EXPORT_CONTROLLER = Symbol('controller of BulkExports');

function bulkExportController(
  reconciler: BulkExportReconciler,
  { workspaces, exports, runs, destinations, exportJobs }: Caches,
): ControllerSpec {
  const ofDestination = ({ metadata }: BulkExportDestination): readonly ObjectKey[] =>
    exports
      .list(metadata.namespace ?? '')
      .filter(({ spec }) => spec.destinationRef.name === metadata.name)
      .map((one) => keyOf(one));
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    exports
      .list(workspaceNamespace(metadata.name))
      .filter((one) => !isFinished(one))
      .map((one) => keyOf(one));
  return {
    name: 'bulk-export',
    // one pass at a time: of two exports that begin at once neither would see the other; runs have their places
    concurrency: 1,
    isUrgent: (text) => {
      const found = exports.find(parseKey(text));
      return found !== undefined && hasBegun(found) && !isFinished(found);
    },
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExport, exports),
    sources: [
      fromObjects(exports, isDesiredChange),
      fromOwned(runs, RESOURCES.BulkExport, changesExport),
      fromMapped(exports, (one) => nextExport(one, exports), movesQueue),
      fromMapped(destinations, ofDestination, concernsExports),
      // an edit of a workspace may raise its limits
      fromMapped(workspaces, ofWorkspace, isDesiredChange),
      fromMapped(exportJobs, exportsOfJob, hasLeftRuns),
    ],
  };
}

/**
 * True when a change of a destination concerns its exports: a daily test with the same result is no reason to
 * reconcile thousands.
 */
function concernsExports(change: Change<BulkExportDestination>): boolean {
  if (isDesiredChange(change) || change.kind !== 'changed') return true;
  const [before, now] = [change.before.status, change.object.status].map((status) =>
    JSON.stringify([status?.observedGeneration, status?.conditions]),
  );
  return before !== now;
}

/**
 * True when the change of a run may alter what an export decides or reports. The progress of its runs is
 * polled.
 */
function changesExport(change: Change<BulkExportRun>): boolean {
  if (change.kind === 'deleted') return true;
  // the export has counted a new run when it made it
  const before = change.kind === 'changed' ? change.before.status?.conditions : undefined;
  return JSON.stringify(before) !== JSON.stringify(change.object.status?.conditions);
}

/** True when a worker of several runs has ended: the runs that it left may wait for something else now. */
function hasLeftRuns(change: Change<Job>): boolean {
  if (followingRunsOf(change.object).length === 0) return false;
  if (change.kind !== 'changed') return change.kind === 'deleted';
  return isJobFinished(change.object) && !isJobFinished(change.before);
}

/** Reconciles BulkExports: splits each into runs of one UTC day and counts what became of them. */
@Module({
  providers: [
    {
      provide: BulkExportReconciler,
      inject: [CACHES, KubeClient, EventRecorder, CONTROLLER_CONFIG, TRACE_STORE, DatabaseTime],
      useFactory: (
        { workspaces, destinations, exports, runs, exportJobs }: Caches,
        client: KubeClient,
        events: EventRecorder,
        config: ControllerConfig,
        traceStore: TraceStore,
        time: DatabaseTime,
      ) =>
        new BulkExportReconciler({
          client,
          events,
          limits: exportLimits(config),
          traceStore,
          time,
          workspaces,
          destinations,
          exports,
          runs,
          exportJobs,
        }),
    },
    {
      provide: BULK_EXPORT_CONTROLLER,
      inject: [BulkExportReconciler, CACHES],
      useFactory: bulkExportController,
    },
  ],
  exports: [BULK_EXPORT_CONTROLLER],
})
export class BulkExportModule {}
