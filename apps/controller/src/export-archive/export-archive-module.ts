import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  passSubject,
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import {
  type BulkExport,
  keyOf,
  type ObjectKey,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import type { TraceStore } from '#lib/trace-store';
import { hasEnded } from '../bulk-export-run/run-places.js';
import type { Caches } from '../caches.js';
import { type ControllerConfig, exportHistory } from '../config.js';
import { CACHES, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { ArchiveReconciler } from './archive-reconciler.js';
import { beyondHistory } from './decide-archive.js';

export const EXPORT_ARCHIVE_CONTROLLER = Symbol('controller of the archive of exports');

function exportArchiveController(
  reconciler: ArchiveReconciler,
  { workspaces, exports, runs }: Caches,
  config: ControllerConfig,
): ControllerSpec {
  const { keptExports } = exportHistory(config);
  const pushedOut = ({ metadata }: BulkExport): readonly ObjectKey[] =>
    beyondHistory(exports.list(metadata.namespace), keptExports).map((one) => keyOf(one));
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    exports.list(workspaceNamespace(metadata.name)).map((one) => keyOf(one));
  return {
    name: 'export-archive',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExport, exports),
    sources: [
      fromObjects(exports, (change) => change.kind !== 'changed' || hasEnded(change)),
      fromMapped(exports, pushedOut, (change) => change.kind === 'changed' && hasEnded(change)),
      fromOwned(runs, RESOURCES.BulkExport, hasEnded),
      // its history may be shorter now
      fromMapped(workspaces, ofWorkspace, isDesiredChange),
    ],
  };
}

/** Moves exports that ended a while ago to Postgres. */
@Module({
  providers: [
    {
      provide: ArchiveReconciler,
      inject: [CACHES, KubeClient, CONTROLLER_CONFIG, TRACE_STORE, DatabaseTime],
      useFactory: (
        { workspaces, destinations, exports, runs }: Caches,
        client: KubeClient,
        config: ControllerConfig,
        traceStore: TraceStore,
        time: DatabaseTime,
      ) =>
        new ArchiveReconciler({
          client,
          traceStore,
          time,
          workspaces,
          destinations,
          exports,
          runs,
          history: exportHistory(config),
        }),
    },
    {
      provide: EXPORT_ARCHIVE_CONTROLLER,
      inject: [ArchiveReconciler, CACHES, CONTROLLER_CONFIG],
      useFactory: exportArchiveController,
    },
  ],
  exports: [EXPORT_ARCHIVE_CONTROLLER],
})
export class ExportArchiveModule {}
