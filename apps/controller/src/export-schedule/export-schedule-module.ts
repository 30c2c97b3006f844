import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  EventRecorder,
  fromMapped,
  fromObjects,
  isDesiredChange,
  KubeClient,
  passSubject,
  type Reader,
  type Source,
} from '#lib/kube';
import {
  type BulkExport,
  type BulkExportDestination,
  idOf,
  isDeleting,
  keyOf,
  type ObjectKey,
  RESOURCES,
} from '#lib/resources';
import { Tick } from '#lib/nest';
import type { TraceStore } from '#lib/trace-store';
import { hasEnded } from '../bulk-export-run/run-places.js';
import { isFinished, isSchedule } from '../bulk-export/export-phase.js';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportLimits } from '../config.js';
import { CACHES, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { ScheduleReconciler } from './schedule-reconciler.js';

const EVERY_TEN_SECONDS = '*/10 * * * * *';

/**
 * Has every live schedule looked at, again and again. Which window is due follows from the database's time: a clock that
 * was set, or a machine that slept, is noticed at the next tick, whatever a timer was told before.
 */
class ScheduleTicks implements Source {
  readonly #exports: Pick<Reader<BulkExport>, 'list'>;
  #enqueue: (key: ObjectKey) => void = () => {};

  constructor(exports: Pick<Reader<BulkExport>, 'list'>) {
    this.#exports = exports;
  }

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => {};
    };
  }

  @Tick('export schedules', EVERY_TEN_SECONDS)
  async look(): Promise<void> {
    for (const one of this.#exports.list())
      if (isSchedule(one) && !isFinished(one) && !isDeleting(one)) this.#enqueue(keyOf(one));
  }
}

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
