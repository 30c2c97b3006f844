import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  EventRecorder,
  passSubject,
  fromObjects,
  fromMapped,
  fromOwned,
  KubeClient,
} from '#lib/kube';
import { isDeleting, RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import { type ControllerConfig, platformSettings } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { ListenerReconciler } from './listener-reconciler.js';

export const LISTENER_CONTROLLER = Symbol('controller of Listeners');

function listenerController(reconciler: ListenerReconciler, caches: Caches): ControllerSpec {
  return {
    name: 'listener',
    reconcile: (key) => reconciler.reconcile(key),
    subject: passSubject(RESOURCES.Listener, caches.listeners),
    sources: [
      // every change counts: a heartbeat is a change of the status
      fromObjects(caches.listeners),
      fromOwned(caches.listenerWorkloads, RESOURCES.Listener),
      fromOwned(caches.listenerAccounts, RESOURCES.Listener),
      fromOwned(caches.listenerRoles, RESOURCES.Listener),
      fromOwned(caches.listenerBindings, RESOURCES.Listener),
      // rights of a remote listener follow its revisions, and those of one that is gone are released
      fromMapped(
        caches.revisions,
        ({ metadata: { namespace = '' }, spec }) => [{ namespace, name: spec.listenerName }],
        ({ kind, object }) => kind !== 'changed' || isDeleting(object),
      ),
    ],
  };
}

/** Reconciles Listeners: their workload, account and rights, and whether their heartbeats arrive. */
@Module({
  providers: [
    {
      provide: ListenerReconciler,
      inject: [CACHES, KubeClient, CONTROLLER_CONFIG, CLOCK, EventRecorder],
      useFactory: (
        caches: Caches,
        client: KubeClient,
        config: ControllerConfig,
        clock: Clock,
        events: EventRecorder,
      ) =>
        new ListenerReconciler(caches, platformSettings(config), {
          client,
          clock,
          events,
          staleMs: config.heartbeatStaleMs,
        }),
    },
    {
      provide: LISTENER_CONTROLLER,
      inject: [ListenerReconciler, CACHES],
      useFactory: listenerController,
    },
  ],
  exports: [LISTENER_CONTROLLER],
})
export class ListenerModule {}
