import { Module } from '@nestjs/common';
import { deploymentDatabases } from '#lib/deployment-database';
import {
  type ControllerSpec,
  EventRecorder,
  failureEvents,
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import { LABEL, type ObjectKey, RESOURCES, type Service } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { Caches } from '../caches.js';
import type { ControllerConfig } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DeploymentProvisioning } from './deployment-provisioning.js';
import { DeploymentReconciler } from './deployment-reconciler.js';
import { readImageIndex } from './image-index.js';
import { RevisionMaker } from './revision-maker.js';

export const AGENT_DEPLOYMENT_CONTROLLER = Symbol('controller of AgentDeployments');

function agentDeploymentController(
  reconciler: DeploymentReconciler,
  caches: Caches,
  events: EventRecorder,
): ControllerSpec {
  return {
    name: 'agent-deployment',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.AgentDeployment, caches.deployments),
    sources: [
      fromObjects(caches.deployments, isDesiredChange),
      fromOwned(caches.revisions, RESOURCES.AgentDeployment),
      fromMapped(caches.services, ofService),
    ],
  };
}

function ofService({ metadata: { namespace, labels } }: Service): readonly ObjectKey[] {
  const name = labels?.[LABEL.deployment];
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}

/** Reconciles AgentDeployments: their project, key, database and revisions. */
@Module({
  providers: [
    {
      provide: DeploymentProvisioning,
      inject: [KubeClient, TRACE_STORE, CONTROLLER_CONFIG],
      useFactory: (client: KubeClient, store: TraceStore, { databaseAdminUri }: ControllerConfig) =>
        new DeploymentProvisioning(client, {
          projects: store.projects,
          apiKeys: store.apiKeys,
          databases: deploymentDatabases,
          adminUri: databaseAdminUri,
        }),
    },
    {
      provide: DeploymentReconciler,
      inject: [CACHES, KubeClient, CLOCK, EventRecorder, DeploymentProvisioning, CONTROLLER_CONFIG],
      useFactory: (
        caches: Caches,
        client: KubeClient,
        clock: Clock,
        events: EventRecorder,
        provisioning: DeploymentProvisioning,
        { imageStore, addresses }: ControllerConfig,
      ) =>
        new DeploymentReconciler(caches, {
          client,
          clock,
          events,
          provisioning,
          maker: new RevisionMaker(client, clock),
          readImages: () => readImageIndex(imageStore),
          addresses,
        }),
    },
    {
      provide: AGENT_DEPLOYMENT_CONTROLLER,
      inject: [DeploymentReconciler, CACHES, EventRecorder],
      useFactory: agentDeploymentController,
    },
  ],
  exports: [AGENT_DEPLOYMENT_CONTROLLER],
})
export class AgentDeploymentModule {}
