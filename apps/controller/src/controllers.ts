import type { ExportLimits } from '#lib/export-plan';
import {
  type ControllerSpec,
  type EventRecorder,
  failureEvents,
  fromMapped,
  fromObjects,
  fromOwned,
  type Informers,
  isDesiredChange,
  type KubeClient,
} from '#lib/kube';
import type { PlatformSettings } from '#lib/manifests';
import {
  JOBS,
  keyOf,
  type KubeObject,
  LABEL,
  type Namespace,
  type ObjectKey,
  RESOURCES,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { DeploymentProvisioning } from './agent-deployment/deployment-provisioning.js';
import { DeploymentReconciler } from './agent-deployment/deployment-reconciler.js';
import { readImageIndex } from './agent-deployment/image-index.js';
import { RevisionMaker } from './agent-deployment/revision-maker.js';
import { DestinationReconciler } from './bulk-export-destination/destination-reconciler.js';
import { BulkExportReconciler } from './bulk-export/bulk-export-reconciler.js';
import { hasEnded, nextInLine } from './bulk-export-run/next-in-line.js';
import { BulkExportRunReconciler } from './bulk-export-run/bulk-export-run-reconciler.js';
import type { Caches } from './caches.js';
import { DatabaseTime } from './database-time.js';
import { ListenerReconciler } from './listener/listener-reconciler.js';
import { WorkspaceReconciler } from './workspace/workspace-reconciler.js';

/** What all reconcilers together are built from. */
export interface ControllerParts {
  readonly client: KubeClient;
  readonly informers: Informers;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly traceStore: TraceStore;
  readonly settings: PlatformSettings;
  readonly limits: ExportLimits;
  readonly systemNamespace: string;
  readonly databaseUri: string;
  readonly databaseAdminUri: string;
  readonly imageStore: string | undefined;
}

/** The reconcilers of all kinds with what wakes them. */
export function buildControllers(parts: ControllerParts): readonly ControllerSpec[] {
  return [
    workspaceController(parts),
    listenerController(parts),
    deploymentController(parts),
    destinationController(parts),
    ...exportControllers(parts),
  ];
}

function workspaceController({ caches, client, clock, events }: ControllerParts): ControllerSpec {
  const reconciler = new WorkspaceReconciler(caches, client, clock);
  const ofNamespace = ({ metadata }: Namespace): readonly ObjectKey[] => {
    const name = metadata.labels?.[LABEL.workspace];
    return name === undefined ? [] : [{ name }];
  };
  return {
    name: 'workspace',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.Workspace, caches.workspaces),
    sources: [
      fromObjects(caches.workspaces, isDesiredChange),
      fromMapped(caches.namespaces, ofNamespace),
      fromMapped(caches.defaultAccounts, ({ metadata }) => {
        const { namespace = '' } = metadata;
        return namespace.startsWith('ws-') ? [{ name: namespace.slice(3) }] : [];
      }),
    ],
  };
}

function listenerController({ caches, client, clock, events, settings }: ControllerParts): ControllerSpec {
  const reconciler = new ListenerReconciler(caches, client, settings, clock);
  return {
    name: 'listener',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.Listener, caches.listeners),
    sources: [
      // its heartbeat is a change of the status that matters
      fromObjects(caches.listeners),
      fromOwned(caches.listenerWorkloads, RESOURCES.Listener),
      fromOwned(caches.listenerAccounts, RESOURCES.Listener),
      fromOwned(caches.listenerRoles, RESOURCES.Listener),
      fromOwned(caches.listenerBindings, RESOURCES.Listener),
    ],
  };
}

function deploymentController(parts: ControllerParts): ControllerSpec {
  const { caches, client, clock, events, traceStore, settings } = parts;
  const provisioning = new DeploymentProvisioning(client, {
    projects: traceStore.projects,
    apiKeys: traceStore.apiKeys,
    databases: traceStore.deploymentDatabases,
    adminUri: parts.databaseAdminUri,
  });
  const reconciler = new DeploymentReconciler(caches, {
    client,
    clock,
    events,
    provisioning,
    maker: new RevisionMaker(client, clock),
    readImages: () => readImageIndex(parts.imageStore),
    addresses: settings.addresses,
  });
  return {
    name: 'agent-deployment',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.AgentDeployment, caches.deployments),
    sources: [
      fromObjects(caches.deployments, isDesiredChange),
      fromOwned(caches.revisions, RESOURCES.AgentDeployment),
      fromMapped(caches.services, ({ metadata }) =>
        keyIn(metadata.namespace, metadata.labels?.[LABEL.deployment]),
      ),
    ],
  };
}

function destinationController({ caches, client, clock, events, settings }: ControllerParts): ControllerSpec {
  const reconciler = new DestinationReconciler(caches, client, clock, settings);
  return {
    name: 'bulk-export-destination',
    reconcile: (key) => reconciler.reconcile(key),
    onFailure: failureEvents(events, RESOURCES.BulkExportDestination, caches.destinations),
    sources: [fromObjects(caches.destinations, isDesiredChange)],
  };
}

/** Exports run one pass at a time: of two that begin at once neither would see the other. Runs have their places. */
function exportControllers(parts: ControllerParts): readonly ControllerSpec[] {
  const { caches, client, events, informers, limits, settings, systemNamespace, traceStore } = parts;
  const exports = informers.of(RESOURCES.BulkExport);
  const runs = informers.of(RESOURCES.BulkExportRun);
  const ofWorkers = { namespace: systemNamespace, labelSelector: LABEL.exportRun };
  const jobs = informers.of(JOBS, ofWorkers);
  const time = new DatabaseTime(() => traceStore.databaseTime(), parts.clock);
  const bulkExport = new BulkExportReconciler({
    client,
    events,
    limits,
    traceStore,
    time,
    workspaces: caches.workspaces,
    destinations: caches.destinations,
    exports,
    runs,
  });
  const bulkExportRun = new BulkExportRunReconciler({
    client,
    events,
    limits,
    settings,
    systemNamespace,
    databaseUri: parts.databaseUri,
    traceStore,
    time,
    workspaces: caches.workspaces,
    exports,
    runs,
    jobs,
  });
  const ofRun = ({ metadata }: KubeObject): readonly ObjectKey[] =>
    keyIn(metadata.labels?.[LABEL.exportNamespace], metadata.labels?.[LABEL.exportRun]);
  return [
    {
      name: 'bulk-export',
      concurrency: 1,
      reconcile: (key) => bulkExport.reconcile(key),
      onFailure: failureEvents(events, RESOURCES.BulkExport, exports),
      sources: [
        fromObjects(exports, isDesiredChange),
        fromOwned(runs, RESOURCES.BulkExport),
        fromMapped(caches.destinations, (destination) =>
          exports
            .list(destination.metadata.namespace ?? '')
            .filter(({ spec }) => spec.destinationRef.name === destination.metadata.name)
            .map((one) => keyOf(one)),
        ),
      ],
    },
    {
      name: 'bulk-export-run',
      reconcile: (key) => bulkExportRun.reconcile(key),
      onFailure: failureEvents(events, RESOURCES.BulkExportRun, runs),
      sources: [
        fromObjects(runs, isDesiredChange),
        fromMapped(
          exports,
          (one) => runs.ownedBy(one).map((run) => keyOf(run)),
          (change) => isDesiredChange(change) || hasEnded(change),
        ),
        fromMapped(runs, (run) => nextInLine(run, exports, runs), hasEnded),
        fromMapped(jobs, ofRun),
      ],
    },
  ];
}

function keyIn(namespace: string | undefined, name: string | undefined): readonly ObjectKey[] {
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}
