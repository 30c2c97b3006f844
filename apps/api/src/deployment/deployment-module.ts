import { Module } from '@nestjs/common';
import { TokenBuckets, WrongKeys } from '#lib/http';
import { Informers, KubeClient } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { AttachmentKeeper } from '../attachment/attachment-keeper.js';
import { AttachmentModule } from '../attachment/attachment-module.js';
import type { AttachmentStore } from '../core/attachment-store.js';
import { API_CONFIG, ATTACHMENT_STORE, CLOCK, HOMES, TRACE_STORE } from '../core/tokens.js';
import type { ApiParts } from '../core/core-module.js';
import { AgentRoutes, routePlaceOf } from '../route/agent-routes.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { type DeploymentRules, Deployments } from './deployments.js';
import { DeploymentRevisions } from './deployment-revisions.js';
import { ArchivesController } from './archives-controller.js';
import { DeploymentsController } from './deployments-controller.js';
import { RevisionHistory } from './revision-history.js';
import { Integrations } from './integrations.js';
import { IntegrationsController } from './integrations-controller.js';
import { UploadedArchives } from './source-archives.js';
import { PushHooks } from './push-hooks.js';
import { PushHooksController } from './push-hooks-controller.js';

/** Calls of one integration: as many at once, and on average. */
const PUSHES = { capacity: 60, perSecond: 1 };
/** Number of integrations whose calls are counted; those without calls for longest are forgotten. */
const MAX_INTEGRATIONS = 10_000;

const RULES = Symbol('DeploymentRules');

/** Deployments and their revisions. */
@Module({
  imports: [TenancyModule, AttachmentModule],
  controllers: [DeploymentsController, ArchivesController, IntegrationsController, PushHooksController],
  providers: [
    {
      provide: Deployments,
      inject: [HOMES, Workspaces, TRACE_STORE, AgentRoutes, CLOCK, RULES],
      useFactory: (
        homes: Homes,
        workspaces: Workspaces,
        store: TraceStore,
        routes: AgentRoutes,
        clock: Clock,
        rules: DeploymentRules,
      ) => new Deployments({ ...homes, routes }, workspaces, store.projects, clock, rules),
    },
    {
      provide: DeploymentRevisions,
      inject: [HOMES, Deployments, TRACE_STORE, CLOCK],
      useFactory: (homes: Homes, deployments: Deployments, store: TraceStore, clock: Clock) =>
        new DeploymentRevisions(
          homes,
          deployments,
          new RevisionHistory(homes.revisions, store.revisionArchive),
          clock,
        ),
    },
    {
      provide: RULES,
      inject: [Integrations, UploadedArchives, API_CONFIG],
      useFactory: (
        integrations: Integrations,
        archives: UploadedArchives,
        { addresses }: Pick<ApiConfig, 'addresses'>,
      ): DeploymentRules => ({ integrations, archives, runsProcesses: addresses === 'loopback' }),
    },
    {
      provide: UploadedArchives,
      inject: [ATTACHMENT_STORE, TRACE_STORE, AttachmentKeeper, HOMES, Workspaces, CLOCK],
      useFactory: (
        store: AttachmentStore | undefined,
        { sourceArchives: table }: TraceStore,
        keeper: AttachmentKeeper,
        { deployments, revisions }: Homes,
        workspaces: Workspaces,
        clock: Clock,
      ) => new UploadedArchives({ store, table, keeper, deployments, revisions, workspaces, clock }),
    },
    {
      provide: AgentRoutes,
      inject: [Informers, API_CONFIG],
      useFactory: (informers: Informers, config: ApiParts['config']) =>
        new AgentRoutes(
          {
            deployments: informers.of(RESOURCES.AgentDeployment),
            revisions: informers.of(RESOURCES.AgentRevision),
            listeners: informers.of(RESOURCES.Listener),
          },
          routePlaceOf(config),
        ),
    },
    {
      provide: Integrations,
      inject: [KubeClient, Workspaces],
      useFactory: (client: KubeClient, workspaces: Workspaces) => new Integrations(client, workspaces),
    },
    {
      provide: PushHooks,
      inject: [KubeClient, HOMES, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        client: KubeClient,
        { deployments }: Homes,
        workspaces: Workspaces,
        { wrongKeysPerMinute: perMinute }: Pick<ApiConfig, 'wrongKeysPerMinute'>,
        clock: Clock,
      ) =>
        new PushHooks({
          client,
          deployments,
          workspaces,
          wrongSignatures: new WrongKeys({ perMinute, chancesPerSecond: 5, called: 'signature', clock }),
          pace: new TokenBuckets({ ...PUSHES, most: MAX_INTEGRATIONS, clock }),
        }),
    },
  ],
  exports: [Deployments, DeploymentRevisions, AgentRoutes],
})
export class DeploymentModule {}
