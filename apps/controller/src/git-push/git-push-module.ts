import { Module } from '@nestjs/common';
import {
  type ControllerSpec,
  EventRecorder,
  passSubject,
  fromObjects,
  fromOwned,
  KubeClient,
} from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { repositoryGuard } from '../git-remote/repository-guard.js';
import { CommitLooks } from '../git-remote/commit-looks.js';
import { PushReconciler } from './push-reconciler.js';

export const GIT_PUSH_CONTROLLER = Symbol('controller of pushes to branches');

/** Makes revisions of deployments whose branch was pushed. */
@Module({
  providers: [
    {
      provide: PushReconciler,
      inject: [CACHES, KubeClient, CLOCK, EventRecorder, CommitLooks, CONTROLLER_CONFIG],
      useFactory: (
        { deployments, revisions }: Caches,
        client: KubeClient,
        clock: Clock,
        events: EventRecorder,
        looks: CommitLooks,
        config: ControllerConfig,
      ) =>
        new PushReconciler({
          client,
          clock,
          events,
          looks,
          deployments,
          revisions,
          guard: repositoryGuard(config),
          periodMs: config.pushPeriodMs,
        }),
    },
    {
      provide: GIT_PUSH_CONTROLLER,
      inject: [PushReconciler, CACHES],
      useFactory: (reconciler: PushReconciler, { deployments, revisions }: Caches): ControllerSpec => ({
        name: 'git-push',
        reconcile: (key) => reconciler.reconcile(key),
        subject: passSubject(RESOURCES.AgentDeployment, deployments),
        sources: [fromObjects(deployments), fromOwned(revisions, RESOURCES.AgentDeployment)],
      }),
    },
  ],
  exports: [GIT_PUSH_CONTROLLER],
})
export class GitPushModule {}
