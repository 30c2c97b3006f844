import { Module } from '@nestjs/common';
import {
  type Change,
  type ControllerSpec,
  passSubject,
  fromMapped,
  fromObjects,
  isDesiredChange,
} from '#lib/kube';
import { type BulkExport, keyOf, RESOURCES } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportLimits, platformSettings } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG, LOG, OWNED_PARTS, TRACE_STORE } from '../core/tokens.js';
import type { OwnedParts } from '../controller-work.js';
import { DatabaseTime } from '../database-time.js';
import { AttemptWorkers, runsOfJob, WorkerJobs } from './attempt-workers.js';
import { BulkExportRunReconciler } from './bulk-export-run-reconciler.js';
import { LeftUploads } from './left-uploads.js';
import { hasEnded, nextInLine, RunPlaces, WorkspaceLine } from './run-places.js';
import { readExportLag } from './run-status.js';
import { FollowingRuns } from './following-runs.js';

export const BULK_EXPORT_RUN_CONTROLLER = Symbol('controller of BulkExportRuns');
const RUN_TURNS = Symbol('whose turn it is among export runs');

/** The caches, and the order of waiting runs that follows from them. */
interface RunTurns extends Caches {
  readonly workerJobs: WorkerJobs;
  readonly places: RunPlaces;
  readonly following: FollowingRuns;
}

function runTurns(
  caches: Caches,
  { exportRunsOfWorker: most, exportRunsWithinMs: createdWithinMs }: ControllerConfig,
  traceStore: TraceStore,
  clock: Clock,
): RunTurns {
  const { runs, exportJobs } = caches;
  const workerJobs = new WorkerJobs(exportJobs);
  const places = new RunPlaces(runs, workerJobs, new WorkspaceLine(clock), clock);
  const following = new FollowingRuns({ runs, workerJobs, traceStore, most, createdWithinMs, clock });
  return { ...caches, workerJobs, places, following };
}

function bulkExportRunController(
  reconciler: BulkExportRunReconciler,
  { exports, runs, exportJobs, workerJobs, places }: RunTurns,
): ControllerSpec {
  readExportLag(runs);
  return {
    name: 'bulk-export-run',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExportRun, runs),
    sources: [
      fromObjects(runs, isDesiredChange),
      fromMapped(exports, (one) => runs.ownedBy(one).map((run) => keyOf(run)), isOfRuns),
      fromMapped(runs, (run) => nextInLine(run, exports, runs, (one) => workerJobs.isTaken(one)), hasEnded),
      fromMapped(runs, () => places.nextOfPlatform(), hasEnded),
      fromMapped(exportJobs, runsOfJob),
    ],
  };
}

/**
 * True when the change of an export matters to its runs. There may be thousands of runs, and labels do not
 * concern them.
 */
function isOfRuns(change: Change<BulkExport>): boolean {
  if (change.kind !== 'changed') return true;
  const [before, now] = [change.before.metadata, change.object.metadata];
  const isAnother =
    before.generation !== now.generation || before.deletionTimestamp !== now.deletionTimestamp;
  return isAnother || hasEnded(change);
}

function buildLeftUploads(
  { runs, workspaces }: Caches,
  { client, leader }: OwnedParts,
  { systemNamespace, allowPrivateEndpoints }: ControllerConfig,
  traceStore: TraceStore,
  log: Logger,
  clock: Clock,
): LeftUploads {
  const settings = { systemNamespace, allowPrivateEndpoints };
  return new LeftUploads({
    ...settings,
    client,
    traceStore,
    runs,
    workspaces,
    leader,
    log,
    clock,
  });
}

/** Reconciles BulkExportRuns: one Job an attempt, until the run's file is whole or the run has failed. */
@Module({
  providers: [
    {
      provide: RUN_TURNS,
      inject: [CACHES, CONTROLLER_CONFIG, TRACE_STORE, CLOCK],
      useFactory: runTurns,
    },
    {
      provide: LeftUploads,
      inject: [CACHES, OWNED_PARTS, CONTROLLER_CONFIG, TRACE_STORE, LOG, CLOCK],
      useFactory: buildLeftUploads,
    },
    {
      provide: BulkExportRunReconciler,
      inject: [RUN_TURNS, OWNED_PARTS, CONTROLLER_CONFIG, TRACE_STORE, DatabaseTime, LeftUploads],
      useFactory: (
        turns: RunTurns,
        { client, events }: OwnedParts,
        config: ControllerConfig,
        traceStore: TraceStore,
        time: DatabaseTime,
        uploads: LeftUploads,
      ) => {
        const { systemNamespace, databaseUri } = config;
        const [limits, settings] = [exportLimits(config), platformSettings(config)];
        const { workspaces, exports, runs, exportJobs: jobs, places, workerJobs, following } = turns;
        const shared = { client, limits, traceStore, workerJobs, workspaces, runs };
        const workers = new AttemptWorkers({ ...shared, settings, systemNamespace, databaseUri, jobs });
        return new BulkExportRunReconciler({
          ...shared,
          workers,
          events,
          time,
          exports,
          places,
          following,
          uploads,
        });
      },
    },
    {
      provide: BULK_EXPORT_RUN_CONTROLLER,
      inject: [BulkExportRunReconciler, RUN_TURNS],
      useFactory: bulkExportRunController,
    },
  ],
  exports: [BULK_EXPORT_RUN_CONTROLLER, LeftUploads],
})
export class BulkExportRunModule {}
