import type { Informers, KubeClient } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { BulkExports } from './bulk-export/bulk-exports.js';
import { Destinations } from './bulk-export/destinations.js';
import type { ApiConfig } from './config.js';
import { Deployments } from './deployment/deployments.js';
import { ResourceHome } from './kubernetes/resource-home.js';
import { SecretHome } from './kubernetes/secret-home.js';
import { Keys } from './key/keys.js';
import { Listeners } from './listener/listeners.js';
import type { Services } from './services.js';
import { LivingKeys } from './tenancy/living-keys.js';
import { OperatorKey } from './tenancy/operator-key.js';
import { TENANT_INDEX, Workspaces } from './tenancy/workspaces.js';
import { BufferBudget } from './trace/buffer-budget.js';
import { TraceIngestion } from './trace/trace-ingestion.js';
import { Traces } from './trace/traces.js';

export interface ServiceParts {
  readonly client: KubeClient;
  /** Not started yet: the services say what they follow. */
  readonly informers: Informers;
  readonly store: TraceStore;
  readonly config: Pick<
    ApiConfig,
    'maxBodyBytes' | 'maxBufferedBytes' | 'allowPrivateEndpoints' | 'operatorKey'
  >;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Puts everything that the routes call together. */
export function buildServices(parts: ServiceParts): Services {
  const { client, informers, store, config, log, clock } = parts;
  const workspaceInformer = informers.of(RESOURCES.Workspace);
  workspaceInformer.addIndex(TENANT_INDEX, (workspace) => [workspace.spec.tenantId.toLowerCase()]);
  const workspaces = new Workspaces(workspaceInformer);
  const homes = {
    deployments: new ResourceHome(client, informers.of(RESOURCES.AgentDeployment)),
    revisions: new ResourceHome(client, informers.of(RESOURCES.AgentRevision)),
    listeners: new ResourceHome(client, informers.of(RESOURCES.Listener)),
    destinations: new ResourceHome(client, informers.of(RESOURCES.BulkExportDestination)),
    exports: new ResourceHome(client, informers.of(RESOURCES.BulkExport)),
    runs: new ResourceHome(client, informers.of(RESOURCES.BulkExportRun)),
    secrets: new SecretHome(client),
  };
  return {
    keyRing: {
      keys: new LivingKeys(store.apiKeys, workspaces),
      workspaces,
      operator: config.operatorKey === undefined ? undefined : new OperatorKey(config.operatorKey),
    },
    keys: new Keys(store.apiKeys),
    ingestion: new TraceIngestion(store, new BufferBudget(config.maxBufferedBytes), config.maxBodyBytes, log),
    traces: new Traces(store),
    deployments: new Deployments(homes, workspaces, store.projects, clock),
    listeners: new Listeners(homes.listeners, workspaces),
    destinations: new Destinations(
      homes.destinations,
      homes.secrets,
      workspaces,
      config.allowPrivateEndpoints,
    ),
    exports: new BulkExports(homes, workspaces, store),
  };
}
