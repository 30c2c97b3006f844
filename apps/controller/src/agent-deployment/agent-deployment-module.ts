import { Module } from '@nestjs/common';
import { deploymentDatabases } from '#lib/deployment-database';
import {
  type ControllerSpec,
  EventRecorder,
  passSubject,
  fromMapped,
  fromObjects,
  fromOwned,
  isDesiredChange,
  KubeClient,
} from '#lib/kube';
import { AGENT_VOLUMES, type PlatformSettings } from '#lib/manifests';
import { isDeleting, keyOf, parseKey, RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { Caches } from '../caches.js';
import { type ControllerConfig, databaseServerSettings, platformSettings } from '../config.js';
import { CACHES, CLOCK, CONTROLLER_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { DatabaseServers } from './database-servers.js';
import { DeploymentReconciler, type DeploymentTools } from './deployment-reconciler.js';
import { isSilent } from './observe.js';
import { DeploymentProvisioning } from './provision.js';
import { RevisionArchiver } from './revision-archiver.js';

/** Deletions of deployments at once, of the four passes of the controller. */
const DELETIONS = 2;

const TOOLS = Symbol('tools of AgentDeployments');
export const AGENT_DEPLOYMENT_CONTROLLER = Symbol('controller of AgentDeployments');

function agentDeploymentController(reconciler: DeploymentReconciler, caches: Caches): ControllerSpec {
  const isDeleted = (text: string): boolean => {
    const found = caches.deployments.find(parseKey(text));
    return found !== undefined && isDeleting(found);
  };
  return {
    name: 'agent-deployment',
    reconcile: (key) => reconciler.reconcile(key),
    // each drops a database, which takes long: changes that people wait for continue beside them
    aside: { has: isDeleted, most: DELETIONS },
    subject: passSubject(RESOURCES.AgentDeployment, caches.deployments),
    sources: [
      fromObjects(caches.deployments, isDesiredChange),
      fromOwned(caches.revisions, RESOURCES.AgentDeployment),
      ...(caches.databaseServers ? [fromOwned(caches.databaseServers, RESOURCES.AgentDeployment)] : []),
      // one that is made or deleted, or falls silent; what else it reports of itself concerns no deployment
      fromMapped(
        caches.listeners,
        ({ metadata: { namespace = '' } }) => caches.deployments.list(namespace).map(keyOf),
        (change) => change.kind !== 'changed' || isSilent(change.before) !== isSilent(change.object),
      ),
    ],
  };
}

function registrySecretsOf({
  imagePullSecrets = [],
  buildPullSecret,
}: Pick<PlatformSettings, 'imagePullSecrets' | 'buildPullSecret'>): readonly string[] {
  return buildPullSecret === undefined ? imagePullSecrets : [...imagePullSecrets, buildPullSecret];
}

/** Reconciles AgentDeployments: their project, key, database and revisions. */
@Module({
  providers: [
    {
      provide: DeploymentProvisioning,
      inject: [KubeClient, TRACE_STORE, CONTROLLER_CONFIG, CLOCK],
      useFactory: (client: KubeClient, store: TraceStore, config: ControllerConfig, clock: Clock) =>
        new DeploymentProvisioning(client, {
          projects: store.projects,
          apiKeys: store.apiKeys,
          databases: deploymentDatabases,
          servers: new DatabaseServers({
            client,
            server: databaseServerSettings(config),
            settings: platformSettings(config),
          }),
          adminUri: config.databaseAdminUri,
          runsProcesses: config.addresses === 'loopback',
          trustedCa: config.trustedCa,
          passwordDays: config.databasePasswordDays,
          clock,
        }),
    },
    {
      provide: TOOLS,
      inject: [KubeClient, CLOCK, EventRecorder, DeploymentProvisioning, TRACE_STORE, CONTROLLER_CONFIG],
      useFactory: (
        client: KubeClient,
        clock: Clock,
        events: EventRecorder,
        provisioning: DeploymentProvisioning,
        store: TraceStore,
        config: ControllerConfig,
      ): DeploymentTools => ({
        client,
        clock,
        events,
        provisioning,
        archiver: new RevisionArchiver(client, store.revisionArchive),
        registrySecrets: registrySecretsOf(platformSettings(config)),
        agentVolumes: config.agentVolumes ?? AGENT_VOLUMES,
        agentDefaults: {
          ...config.agentPlacement,
          ...(config.agentMemoryLimitMb > 0 ? { memoryLimitMb: config.agentMemoryLimitMb } : {}),
        },
      }),
    },
    {
      provide: DeploymentReconciler,
      inject: [CACHES, TOOLS],
      useFactory: (caches: Caches, tools: DeploymentTools) => new DeploymentReconciler(caches, tools),
    },
    {
      provide: AGENT_DEPLOYMENT_CONTROLLER,
      inject: [DeploymentReconciler, CACHES],
      useFactory: agentDeploymentController,
    },
  ],
  exports: [AGENT_DEPLOYMENT_CONTROLLER],
})
export class AgentDeploymentModule {}
