import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  EventRecorder,
  passSubject,
  fromMapped,
  fromObjects,
  isDesiredChange,
  KubeClient,
  type Reader,
} from '#lib/kube';
import {
  type BulkExport,
  type BulkExportDestination,
  idOf,
  keyOf,
  type ObjectKey,
  RESOURCES,
} from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { isSchedule } from '../bulk-export/export-phase.js';
import { hasEnded } from '../bulk-export-run/next-in-line.js';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportLimits } from '../config.js';
import { CACHES, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { ScheduleReconciler } from './schedule-reconciler.js';
import { ScheduleTicks } from './schedule-ticks.js';

export const EXPORT_SCHEDULE_CONTROLLER = Symbol('controller of schedules');

/** The schedule whose place a child that ended gives back. */
function sourceOf(child: BulkExport, exports: Pick<Reader<BulkExport>, 'list'>): readonly ObjectKey[] {
  const id = child.spec.sourceExport?.id;
  if (id === undefined) return [];
  return exports
    .list(child.metadata.namespace)
    .filter((one) => isSchedule(one) && idOf(one) === id)
    .map((one) => keyOf(one));
}

function exportScheduleController(
  reconciler: ScheduleReconciler,
  ticks: ScheduleTicks,
  { exports, destinations }: Caches,
): ControllerSpec {
  const ofDestination = ({ metadata }: BulkExportDestination): readonly ObjectKey[] =>
    exports
      .list(metadata.namespace ?? '')
      .filter((one) => isSchedule(one) && one.spec.destinationRef.name === metadata.name)
      .map((one) => keyOf(one));
  return {
    name: 'export-schedule',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExport, exports),
    sources: [
      fromObjects(exports, (change) => isSchedule(change.object) && isDesiredChange(change)),
      fromMapped(exports, (one) => sourceOf(one, exports), hasEnded),
      fromMapped(destinations, ofDestination),
      ticks,
    ],
  };
}

/** Reconciles the BulkExports that are schedules: makes an export for each of their windows. */
@Module({
  providers: [
    {
      provide: ScheduleReconciler,
      inject: [CACHES, KubeClient, EventRecorder, CONTROLLER_CONFIG, TRACE_STORE, DatabaseTime],
      useFactory: (
        { workspaces, destinations, exports }: Caches,
        client: KubeClient,
        events: EventRecorder,
        config: ControllerConfig,
        traceStore: TraceStore,
        time: DatabaseTime,
      ) =>
        new ScheduleReconciler({
          client,
          events,
          traceStore,
          time,
          workspaces,
          destinations,
          exports,
          limits: exportLimits(config),
        }),
    },
    {
      provide: ScheduleTicks,
      inject: [CACHES],
      useFactory: ({ exports }: Caches) => new ScheduleTicks(exports),
    },
    {
      provide: EXPORT_SCHEDULE_CONTROLLER,
      inject: [ScheduleReconciler, ScheduleTicks, CACHES],
      useFactory: exportScheduleController,
    },
  ],
  exports: [EXPORT_SCHEDULE_CONTROLLER],
})
export class ExportScheduleModule {}
