import { Module } from '@nestjs/common';
import {
  type Change,
  type ControllerSpec,
  EventRecorder,
  failureEvents,
  fromMapped,
  fromObjects,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import { type BulkExport, type Job, keyOf, LABEL, type ObjectKey, RESOURCES } from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportLimits, platformSettings } from '../config.js';
import { CACHES, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { BulkExportRunReconciler } from './bulk-export-run-reconciler.js';
import { hasEnded, nextInLine } from './next-in-line.js';
import { readExportLag } from './observe-export-runs.js';
import { RunPlaces } from './run-places.js';

export const BULK_EXPORT_RUN_CONTROLLER = Symbol('controller of BulkExportRuns');

function bulkExportRunController(
  reconciler: BulkExportRunReconciler,
  { exports, runs, exportJobs }: Caches,
  events: EventRecorder,
): ControllerSpec {
  readExportLag(runs);
  return {
    name: 'bulk-export-run',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.BulkExportRun, runs),
    sources: [
      fromObjects(runs, isDesiredChange),
      fromMapped(exports, (one) => runs.ownedBy(one).map((run) => keyOf(run)), isOfRuns),
      fromMapped(runs, (run) => nextInLine(run, exports, runs), hasEnded),
      fromMapped(exportJobs, ofJob),
    ],
  };
}

/** Whether its runs depend on the change of an export: there may be thousands, and its labels are none of their business. */
function isOfRuns(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return true;
  const [before, now] = [change.before.metadata, change.object.metadata];
  const isAnother =
    before.generation !== now.generation || before.deletionTimestamp !== now.deletionTimestamp;
  return isAnother || hasEnded(change);
}

function ofJob({ metadata: { labels } }: Job): readonly ObjectKey[] {
  const [namespace, name] = [labels?.[LABEL.exportNamespace], labels?.[LABEL.exportRun]];
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}

/** Reconciles BulkExportRuns: one Job an attempt, until the run's file is whole or the run has failed. */
@Module({
  providers: [
    {
      provide: BulkExportRunReconciler,
      inject: [CACHES, KubeClient, EventRecorder, CONTROLLER_CONFIG, TRACE_STORE, DatabaseTime],
      useFactory: (
        { workspaces, exports, runs, exportJobs }: Caches,
        client: KubeClient,
        events: EventRecorder,
        config: ControllerConfig,
        traceStore: TraceStore,
        time: DatabaseTime,
      ) =>
        new BulkExportRunReconciler({
          client,
          events,
          limits: exportLimits(config),
          settings: platformSettings(config),
          systemNamespace: config.systemNamespace,
          databaseUri: config.databaseUri,
          traceStore,
          time,
          workspaces,
          exports,
          runs,
          places: new RunPlaces(runs),
          jobs: exportJobs,
        }),
    },
    {
      provide: BULK_EXPORT_RUN_CONTROLLER,
      inject: [BulkExportRunReconciler, CACHES, EventRecorder],
      useFactory: bulkExportRunController,
    },
  ],
  exports: [BULK_EXPORT_RUN_CONTROLLER],
})
export class BulkExportRunModule {}
