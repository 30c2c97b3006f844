import { Module } from '@nestjs/common';
import { KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { CLOCK, HOMES, TRACE_STORE } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Deployments } from './deployments.js';
import { DeploymentsController } from './deployments-controller.js';
import { Integrations } from './integrations.js';
import { IntegrationsController } from './integrations-controller.js';

/** Deployments and their revisions. */
@Module({
  imports: [TenancyModule],
  controllers: [DeploymentsController, IntegrationsController],
  providers: [
    {
      provide: Deployments,
      inject: [HOMES, Workspaces, TRACE_STORE, CLOCK],
      useFactory: (homes: Homes, workspaces: Workspaces, store: TraceStore, clock: Clock) =>
        new Deployments(homes, workspaces, store.projects, clock),
    },
    {
      provide: Integrations,
      inject: [KubeClient, Workspaces],
      useFactory: (client: KubeClient, workspaces: Workspaces) => new Integrations(client, workspaces),
    },
  ],
  exports: [Deployments],
})
export class DeploymentModule {}
