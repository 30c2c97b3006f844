import { Module } from '@nestjs/common';
import { type ControllerSpec, passSubject, fromMapped, fromObjects, fromOwned, KubeClient } from '#lib/kube';
import { revisionOfBuild } from '#lib/manifests';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG } from '../core/tokens.js';
import { openGitBuilds } from '../git-build/open-git-builds.js';
import { CommitLooks } from '../git-remote/commit-looks.js';
import { BuildReconciler, readImageIndex } from './build-reconciler.js';

export const AGENT_REVISION_CONTROLLER = Symbol('controller of AgentRevisions');

/** Builds AgentRevisions: finds out the image that each of them runs. */
@Module({
  providers: [
    {
      provide: BuildReconciler,
      inject: [CACHES, KubeClient, CLOCK, CommitLooks, CONTROLLER_CONFIG],
      useFactory: (
        caches: Caches,
        client: KubeClient,
        clock: Clock,
        looks: CommitLooks,
        config: ControllerConfig,
      ) =>
        new BuildReconciler(caches.revisions, {
          client,
          clock,
          readImages: (namespace) => readImageIndex(config.imageStore, namespace),
          gitBuilds: openGitBuilds(caches, client, clock, looks, config),
        }),
    },
    {
      provide: AGENT_REVISION_CONTROLLER,
      inject: [BuildReconciler, CACHES],
      useFactory: (reconciler: BuildReconciler, { revisions, buildJobs }: Caches): ControllerSpec => ({
        name: 'agent-revision',
        reconcile: (key) => reconciler.reconcile(key),
        subject: passSubject(RESOURCES.AgentRevision, revisions),
        // the condition that its variables are stored is a change of the status that matters
        sources: [
          fromObjects(revisions),
          fromOwned(buildJobs, RESOURCES.AgentRevision),
          fromMapped(buildJobs, (job) => {
            const key = revisionOfBuild(job);
            return key ? [key] : [];
          }),
        ],
      }),
    },
  ],
  exports: [AGENT_REVISION_CONTROLLER],
})
export class AgentRevisionModule {}
