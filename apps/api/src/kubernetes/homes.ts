import type { Informers, KubeClient } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type Listener,
  RESOURCES,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { ResourceHome, type RetryPause } from './resource-home.js';
import { SecretHome } from './secret-home.js';

/** Resources of the interface, for reads and changes, kind by kind. */
export interface Homes {
  readonly deployments: ResourceHome<AgentDeployment>;
  readonly revisions: ResourceHome<AgentRevision>;
  readonly listeners: ResourceHome<Listener>;
  readonly destinations: ResourceHome<BulkExportDestination>;
  readonly exports: ResourceHome<BulkExport>;
  readonly runs: ResourceHome<BulkExportRun>;
  readonly secrets: SecretHome;
}

/** @param informers not started yet: each home follows its kind */
export function openHomes(
  client: KubeClient,
  informers: Informers,
  pause: RetryPause & { readonly clock: Pick<Clock, 'monotonicMs'> },
): Homes {
  return {
    deployments: new ResourceHome(client, informers.of(RESOURCES.AgentDeployment), pause),
    revisions: new ResourceHome(client, informers.of(RESOURCES.AgentRevision), pause),
    listeners: new ResourceHome(client, informers.of(RESOURCES.Listener), pause),
    destinations: new ResourceHome(client, informers.of(RESOURCES.BulkExportDestination), pause),
    exports: new ResourceHome(client, informers.of(RESOURCES.BulkExport), pause),
    runs: new ResourceHome(client, informers.of(RESOURCES.BulkExportRun), pause),
    secrets: new SecretHome(client, pause.clock),
  };
}
