import { Module } from '@nestjs/common';
import { type ControllerSpec, passSubject, fromObjects, KubeClient } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Caches } from '../caches.js';
import { CACHES } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { FormerCredentialsReconciler } from './former-credentials-reconciler.js';

export const FORMER_CREDENTIALS_CONTROLLER = Symbol('controller of former credentials of destinations');

function formerCredentialsController(
  reconciler: FormerCredentialsReconciler,
  { destinations }: Caches,
): ControllerSpec {
  return {
    name: 'former-credentials',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExportDestination, destinations),
    sources: [fromObjects(destinations)],
  };
}

/** Deletes the Secrets that destinations had before. */
@Module({
  providers: [
    {
      provide: FormerCredentialsReconciler,
      inject: [CACHES, KubeClient, DatabaseTime],
      useFactory: ({ destinations, exports, runs }: Caches, client: KubeClient, time: DatabaseTime) =>
        new FormerCredentialsReconciler({ client, time, destinations, exports, runs }),
    },
    {
      provide: FORMER_CREDENTIALS_CONTROLLER,
      inject: [FormerCredentialsReconciler, CACHES],
      useFactory: formerCredentialsController,
    },
  ],
  exports: [FORMER_CREDENTIALS_CONTROLLER],
})
export class FormerCredentialsModule {}
