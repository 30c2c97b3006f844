import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  EventRecorder,
  passSubject,
  fromMapped,
  fromObjects,
  KubeClient,
} from '#lib/kube';
import { type BulkExport, keyOf, type ObjectKey, RESOURCES } from '#lib/resources';
import { webhookGuard } from '#lib/outbound';
import { hasEnded } from '../bulk-export-run/run-places.js';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CONTROLLER_CONFIG } from '../core/tokens.js';
import { DatabaseTime } from '../database-time.js';
import { beyondOpen, isOpen } from './decide-webhook.js';
import { WebhookCalls } from './webhook-calls.js';
import { WebhookReconciler } from './webhook-reconciler.js';

export const EXPORT_WEBHOOK_CONTROLLER = Symbol('controller of the webhooks of exports');

function exportWebhookController(
  reconciler: WebhookReconciler,
  calls: WebhookCalls,
  { exports }: Caches,
): ControllerSpec {
  const pushedOut = ({ metadata }: BulkExport): readonly ObjectKey[] =>
    beyondOpen(exports.list(metadata.namespace)).map((one) => keyOf(one));
  return {
    name: 'export-webhook',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.BulkExport, exports),
    sources: [
      // counts of runs that end after their export are changes of its status
      fromObjects(exports, ({ kind, object }) => kind === 'deleted' || isOpen(object)),
      fromMapped(exports, pushedOut, hasEnded),
      calls,
    ],
  };
}

/** Calls the webhooks of exports that have ended. */
@Module({
  providers: [
    { provide: WebhookCalls, useFactory: () => new WebhookCalls() },
    {
      provide: WebhookReconciler,
      inject: [CACHES, KubeClient, EventRecorder, CONTROLLER_CONFIG, DatabaseTime, WebhookCalls],
      useFactory: (
        { workspaces, destinations, exports }: Caches,
        client: KubeClient,
        events: EventRecorder,
        { exportWebhookPrivateAddresses: allowPrivate }: ControllerConfig,
        time: DatabaseTime,
        calls: WebhookCalls,
      ) =>
        new WebhookReconciler({
          client,
          events,
          time,
          calls,
          workspaces,
          destinations,
          exports,
          guard: webhookGuard({
            allowPrivate,
            advice: 'set AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES=true for the platform to allow these',
          }),
        }),
    },
    {
      provide: EXPORT_WEBHOOK_CONTROLLER,
      inject: [WebhookReconciler, WebhookCalls, CACHES],
      useFactory: exportWebhookController,
    },
  ],
  exports: [EXPORT_WEBHOOK_CONTROLLER],
})
export class ExportWebhookModule {}
