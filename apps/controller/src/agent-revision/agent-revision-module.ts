import { Module } from '@nestjs/common';
import { type ControllerSpec, EventRecorder, failureEvents, fromObjects, KubeClient } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { BuildReconciler } from './build-reconciler.js';
import { readImageIndex } from './image-index.js';

export const AGENT_REVISION_CONTROLLER = Symbol('controller of AgentRevisions');

/** Builds AgentRevisions: finds out the image that each of them runs. */
@Module({
  providers: [
    {
      provide: BuildReconciler,
      inject: [CACHES, KubeClient, CLOCK, CONTROLLER_CONFIG],
      useFactory: (
        { revisions }: Caches,
        client: KubeClient,
        clock: Clock,
        { imageStore }: ControllerConfig,
      ) =>
        new BuildReconciler(revisions, {
          ...{ client, clock },
          readImages: (namespace) => readImageIndex(imageStore, namespace),
        }),
    },
    {
      provide: AGENT_REVISION_CONTROLLER,
      inject: [BuildReconciler, CACHES, EventRecorder],
      useFactory: (
        reconciler: BuildReconciler,
        { revisions }: Caches,
        events: EventRecorder,
      ): ControllerSpec => ({
        name: 'agent-revision',
        reconcile: (key) => reconciler.reconcile(key),
        onFailure: failureEvents(events, RESOURCES.AgentRevision, revisions),
        // the condition that its variables are stored is a change of the status that matters
        sources: [fromObjects(revisions)],
      }),
    },
  ],
  exports: [AGENT_REVISION_CONTROLLER],
})
export class AgentRevisionModule {}
