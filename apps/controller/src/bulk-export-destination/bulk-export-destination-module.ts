import { Module } from '@nestjs/common';
import {
  type Change,
  type ControllerSpec,
  passSubject,
  fromMapped,
  fromObjects,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import {
  type BulkExport,
  type BulkExportRun,
  isDeleting,
  keyOf,
  type ObjectKey,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { DestinationReconciler } from './destination-reconciler.js';

export const BULK_EXPORT_DESTINATION_CONTROLLER = Symbol('controller of BulkExportDestinations');

function destinationController(reconciler: DestinationReconciler, caches: Caches): ControllerSpec {
  const ofWorkspace = ({ metadata }: Workspace): readonly ObjectKey[] =>
    caches.destinations
      .list(workspaceNamespace(metadata.name))
      .filter(({ spec }) => !spec.credentialsSecretRef)
      .map((one) => keyOf(one));
  const ofFailedAttempt = ({ metadata, spec }: BulkExportRun): readonly ObjectKey[] => {
    const { namespace = '' } = metadata;
    const name = caches.exports.find({ namespace, name: spec.exportName })?.spec.destinationRef.name;
    if (name === undefined) return [];
    reconciler.suspect({ namespace, name });
    return [{ namespace, name }];
  };
  /** One that is being deleted waits for the exports that use it. */
  const ofUser = ({ metadata: { namespace = '' }, spec }: BulkExport): readonly ObjectKey[] => {
    const found = caches.destinations.find({ namespace, name: spec.destinationRef.name });
    return found && isDeleting(found) ? [keyOf(found)] : [];
  };
  return {
    name: 'bulk-export-destination',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExportDestination, caches.destinations),
    sources: [
      fromObjects(caches.destinations, isDesiredChange),
      // which may allow or forbid the credentials of the platform
      fromMapped(caches.workspaces, ofWorkspace, isDesiredChange),
      fromMapped(caches.exports, ofUser),
      fromMapped(caches.runs, ofFailedAttempt, hasFailedAttempt),
    ],
  };
}

/** Answers whether another attempt of a run has failed. */
function hasFailedAttempt(change: Change<BulkExportRun>): boolean {
  if (change.kind !== 'changed') return false;
  const [before, now] = [change.before, change.object].map(({ status }) => Object.keys(status?.errors ?? {}));
  return (now?.length ?? 0) > (before?.length ?? 0);
}

/** Reconciles BulkExportDestinations: each is tested by writing to it. */
@Module({
  providers: [
    {
      provide: DestinationReconciler,
      inject: [CACHES, KubeClient, CLOCK, CONTROLLER_CONFIG],
      useFactory: (caches: Caches, client: KubeClient, clock: Clock, config: ControllerConfig) =>
        new DestinationReconciler(caches, client, clock, config),
    },
    {
      provide: BULK_EXPORT_DESTINATION_CONTROLLER,
      inject: [DestinationReconciler, CACHES],
      useFactory: destinationController,
    },
  ],
  exports: [BULK_EXPORT_DESTINATION_CONTROLLER],
})
export class BulkExportDestinationModule {}
