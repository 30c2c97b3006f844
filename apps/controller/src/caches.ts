import type { Informer, Informers } from '#lib/kube';
import { customHostOf } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  COMPONENT,
  type Deployment,
  DEPLOYMENTS,
  isDeleting,
  type Job,
  JOBS,
  LABEL,
  type Listener,
  type Namespace,
  NAMESPACES,
  type ObjectKey,
  RESOURCES,
  type Role,
  ROLE_BINDINGS,
  type RoleBinding,
  ROLES,
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  STATEFUL_SETS,
  type StatefulSet,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';

/** Caches of the cluster that the controller keeps. */
export interface Caches {
  readonly workspaces: Informer<Workspace>;
  readonly listeners: Informer<Listener>;
  readonly deployments: Informer<AgentDeployment>;
  readonly revisions: Informer<AgentRevision>;
  readonly destinations: Informer<BulkExportDestination>;
  readonly exports: Informer<BulkExport>;
  readonly runs: Informer<BulkExportRun>;
  /** Jobs of export workers; they run in the platform's own namespace. */
  readonly exportJobs: Informer<Job>;
  /** The Job of the worker that seals days; undefined where none are. */
  readonly sealJobs: Informer<Job> | undefined;
  /** Jobs that build revisions from git, in the namespaces of workspaces. */
  readonly buildJobs: Informer<Job>;
  /** Postgres servers of deployments; undefined where there are none. */
  readonly databaseServers: Informer<StatefulSet> | undefined;
  readonly namespaces: Informer<Namespace>;
  /** Only those named `default`. */
  readonly defaultAccounts: Informer<ServiceAccount>;
  /** Deployments of listeners. */
  readonly listenerWorkloads: Informer<Deployment>;
  readonly listenerAccounts: Informer<ServiceAccount>;
  readonly listenerRoles: Informer<Role>;
  readonly listenerBindings: Informer<RoleBinding>;
}

const BY_NAMESPACE = 'workspace-namespace';
const BY_SOURCE = 'source-export';
const BY_EXPORT = 'export';
const BY_CUSTOM_HOST = 'custom-host';

/** The caches; of built-in kinds only what concerns the platform. */
export function openCaches(
  informers: Informers,
  {
    systemNamespace,
    hasDatabaseServers,
    isSealing = false,
  }: {
    readonly systemNamespace: string;
    readonly hasDatabaseServers: boolean;
    readonly isSealing?: boolean;
  },
): Caches {
  const ofListeners = { labelSelector: `${LABEL.component}=${COMPONENT.listener}` };
  const caches: Caches = {
    workspaces: informers.of(RESOURCES.Workspace),
    listeners: informers.of(RESOURCES.Listener),
    deployments: informers.of(RESOURCES.AgentDeployment),
    revisions: informers.of(RESOURCES.AgentRevision),
    destinations: informers.of(RESOURCES.BulkExportDestination),
    exports: informers.of(RESOURCES.BulkExport),
    runs: informers.of(RESOURCES.BulkExportRun),
    exportJobs: informers.of(JOBS, { namespace: systemNamespace, labelSelector: LABEL.exportRun }),
    sealJobs: isSealing
      ? informers.of(JOBS, { namespace: systemNamespace, labelSelector: LABEL.sealing })
      : undefined,
    buildJobs: informers.of(JOBS, { labelSelector: `${LABEL.component}=${COMPONENT.builder}` }),
    databaseServers: hasDatabaseServers
      ? informers.of(STATEFUL_SETS, { labelSelector: `${LABEL.component}=${COMPONENT.agentDatabase}` })
      : undefined,
    namespaces: informers.of(NAMESPACES),
    defaultAccounts: informers.of(SERVICE_ACCOUNTS, { fieldSelector: 'metadata.name=default' }),
    listenerWorkloads: informers.of(DEPLOYMENTS, ofListeners),
    listenerAccounts: informers.of(SERVICE_ACCOUNTS, ofListeners),
    listenerRoles: informers.of(ROLES, ofListeners),
    listenerBindings: informers.of(ROLE_BINDINGS, ofListeners),
  };
  caches.workspaces.addIndex(BY_NAMESPACE, ({ metadata }) => [workspaceNamespace(metadata.name)]);
  caches.exports.addIndex(BY_SOURCE, ({ metadata, spec }) =>
    spec.sourceExport === undefined ? [] : [sourceKey(metadata.namespace ?? '', spec.sourceExport.id)],
  );
  caches.exportJobs.addIndex(BY_EXPORT, (job) =>
    exportsOfJob(job).map(({ namespace, name }) => sourceKey(namespace, name)),
  );
  caches.deployments.addIndex(BY_CUSTOM_HOST, (one) => {
    const host = customHostOf(one);
    return host === undefined ? [] : [host];
  });
  return caches;
}

function sourceKey(namespace: string, id: string): string {
  return `${namespace}/${id}`;
}

/** The other deployments, of all workspaces, that ask for the host of a deployment's custom URL. */
export function hostRivals(
  deployments: Pick<Informer<AgentDeployment>, 'byIndex'>,
  deployment: AgentDeployment,
): readonly AgentDeployment[] {
  const host = customHostOf(deployment);
  if (host === undefined) return [];
  return deployments
    .byIndex(BY_CUSTOM_HOST, host)
    .filter((one) => one.metadata.uid !== deployment.metadata.uid && !isDeleting(one));
}

/** The exports that a schedule has made and that exist. Every schedule asks at every tick. */
export function exportsOfSchedule(
  exports: Pick<Informer<BulkExport>, 'byIndex'>,
  namespace: string,
  id: string | undefined,
): readonly BulkExport[] {
  return id === undefined ? [] : exports.byIndex(BY_SOURCE, sourceKey(namespace, id));
}

/** The export whose runs a Job works on. */
export function exportsOfJob({ metadata: { labels } }: Job): readonly Required<ObjectKey>[] {
  const [namespace, name] = [labels?.[LABEL.exportNamespace], labels?.[LABEL.export]];
  return namespace === undefined || name === undefined ? [] : [{ namespace, name }];
}

/** The Jobs of an export's workers, also those that have ended. */
export function jobsOfExport(
  jobs: Pick<Informer<Job>, 'byIndex'>,
  { metadata: { namespace = '', name } }: BulkExport,
): readonly Job[] {
  return jobs.byIndex(BY_EXPORT, sourceKey(namespace, name));
}

/** The workspace that a namespace belongs to. */
export function workspaceOf(
  workspaces: Informer<Workspace>,
  namespace: string | undefined,
): Workspace | undefined {
  return namespace === undefined ? undefined : workspaces.byIndex(BY_NAMESPACE, namespace)[0];
}
