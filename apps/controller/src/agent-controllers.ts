import { INSTALLATION } from '#lib/data-folder';
import { deploymentDatabases } from '#lib/deployment-database';
import { openImageStore } from '#lib/image-store';
import { type ControllerSpec, fromMapped, fromObjects, fromOwned, isDesiredChange } from '#lib/kube';
import { AGENT_VOLUMES, revisionOfBuild } from '#lib/manifests';
import { isDeleting, keyOf, LABEL, type ObjectKey, parseKey, RESOURCES } from '#lib/resources';
import { DatabaseServers } from './agent-deployment/database-servers.js';
import { DeploymentReconciler } from './agent-deployment/deployment-reconciler.js';
import { isSilent } from './agent-deployment/observe.js';
import { DeploymentProvisioning } from './agent-deployment/provision.js';
import { RevisionArchiver } from './agent-deployment/revision-archiver.js';
import { BuildReconciler, readImageIndex } from './agent-revision/build-reconciler.js';
import { databaseServerSettings, exportHistory, exportLimits, platformSettings } from './config.js';
import { openGitBuilds } from './git-build/open-git-builds.js';
import { PushReconciler } from './git-push/push-reconciler.js';
import { repositoryGuard } from './git-remote/repository-guard.js';
import { ListenerReconciler } from './listener/listener-reconciler.js';
import { controllerOf, type Parts } from './parts.js';
import { clusterUid } from './unused-images/cluster-uid.js';
import { ImageCollector } from './unused-images/image-collector.js';
import { WorkspaceReconciler } from './workspace/workspace-reconciler.js';

const POSTGRES_PORT = 5432;
/** Deletions of deployments at once, of the four passes of the controller. */
const DELETIONS = 2;
/** There is one store. */
const STORE: readonly ObjectKey[] = [{ name: 'image-store' }];

/** Workspaces: a namespace and a listener for each. */
function workspaceController(parts: Parts): ControllerSpec {
  const { client, clock, config, traceStore } = parts;
  const { systemNamespace, podSecurity, agentEgress } = config;
  const reconciler = new WorkspaceReconciler(parts, client, clock, traceStore, {
    systemNamespace,
    podSecurity,
    limits: exportLimits(config),
    history: exportHistory(config),
    agentEgress: agentEgress && {
      rules: agentEgress,
      databasePort: Number(new URL(config.databaseAdminUri).port) || POSTGRES_PORT,
    },
  });
  return controllerOf(
    'workspace',
    reconciler,
    [RESOURCES.Workspace, parts.workspaces],
    [
      fromObjects(parts.workspaces, isDesiredChange),
      fromMapped(parts.namespaces, ({ metadata }) => {
        const name = metadata.labels?.[LABEL.workspace];
        return name === undefined ? [] : [{ name }];
      }),
      fromMapped(parts.defaultAccounts, ({ metadata: { namespace = '' } }) =>
        namespace.startsWith('ws-') ? [{ name: namespace.slice(3) }] : [],
      ),
    ],
  );
}

/** Listeners: their workload, account and rights, and whether their heartbeats arrive. */
function listenerController(parts: Parts): ControllerSpec {
  const { config } = parts;
  const tools = { ...parts, staleMs: config.heartbeatStaleMs };
  const reconciler = new ListenerReconciler(parts, platformSettings(config), tools);
  return controllerOf(
    'listener',
    reconciler,
    [RESOURCES.Listener, parts.listeners],
    [
      // every change counts: a heartbeat is a change of the status
      fromObjects(parts.listeners),
      fromOwned(parts.listenerWorkloads, RESOURCES.Listener),
      fromOwned(parts.listenerAccounts, RESOURCES.Listener),
      fromOwned(parts.listenerRoles, RESOURCES.Listener),
      fromOwned(parts.listenerBindings, RESOURCES.Listener),
      // rights of a remote listener follow its revisions, and those of one that is gone are released
      fromMapped(
        parts.revisions,
        ({ metadata: { namespace = '' }, spec }) => [{ namespace, name: spec.listenerName }],
        ({ kind, object }) => kind !== 'changed' || isDeleting(object),
      ),
    ],
  );
}

/** AgentDeployments: their project, key, database and revisions. */
function agentDeploymentController(parts: Parts): ControllerSpec {
  const { client, clock, config, deployments, traceStore } = parts;
  const settings = platformSettings(config);
  const provisioning = new DeploymentProvisioning(client, {
    projects: traceStore.projects,
    apiKeys: traceStore.apiKeys,
    databases: deploymentDatabases,
    servers: new DatabaseServers({ client, server: databaseServerSettings(config), settings }),
    adminUri: config.databaseAdminUri,
    runsProcesses: config.addresses === 'loopback',
    trustedCa: config.trustedCa,
    passwordDays: config.databasePasswordDays,
    clock,
  });
  const { imagePullSecrets = [], buildPullSecret } = settings;
  const reconciler = new DeploymentReconciler(parts, {
    ...parts,
    provisioning,
    archiver: new RevisionArchiver(client, traceStore.revisionArchive),
    registrySecrets:
      buildPullSecret === undefined ? imagePullSecrets : [...imagePullSecrets, buildPullSecret],
    agentVolumes: config.agentVolumes ?? AGENT_VOLUMES,
    agentDefaults: {
      ...config.agentPlacement,
      ...(config.agentMemoryLimitMb > 0 ? { memoryLimitMb: config.agentMemoryLimitMb } : {}),
    },
  });
  const isDeleted = (text: string): boolean => {
    const found = deployments.find(parseKey(text));
    return found !== undefined && isDeleting(found);
  };
  const sources = [
    fromObjects(deployments, isDesiredChange),
    fromOwned(parts.revisions, RESOURCES.AgentDeployment),
    ...(parts.databaseServers ? [fromOwned(parts.databaseServers, RESOURCES.AgentDeployment)] : []),
    // one that is made or deleted, or falls silent; what else it reports of itself concerns no deployment
    fromMapped(
      parts.listeners,
      ({ metadata: { namespace = '' } }) => deployments.list(namespace).map(keyOf),
      (change) => change.kind !== 'changed' || isSilent(change.before) !== isSilent(change.object),
    ),
  ];
  return {
    ...controllerOf('agent-deployment', reconciler, [RESOURCES.AgentDeployment, deployments], sources),
    // each drops a database, which takes long: changes that people wait for continue beside them
    aside: { has: isDeleted, most: DELETIONS },
  };
}

/** AgentRevisions: finds out the image that each of them runs. */
function agentRevisionController(parts: Parts): ControllerSpec {
  const { config, revisions, buildJobs } = parts;
  const reconciler = new BuildReconciler(revisions, {
    ...parts,
    readImages: (namespace) => readImageIndex(config.imageStore, namespace),
    gitBuilds: openGitBuilds(parts),
  });
  return controllerOf(
    'agent-revision',
    reconciler,
    [RESOURCES.AgentRevision, revisions],
    [
      // the condition that its variables are stored is a change of the status that matters
      fromObjects(revisions),
      fromOwned(buildJobs, RESOURCES.AgentRevision),
      fromMapped(buildJobs, (job) => {
        const key = revisionOfBuild(job);
        return key ? [key] : [];
      }),
    ],
  );
}

/** Removes images that nothing names any more. */
function unusedImagesController(parts: Parts): ControllerSpec {
  const { revisions, namespaces } = parts;
  const { imageStore: folder, systemNamespace } = parts.config;
  const collector = new ImageCollector({
    ...parts,
    store: folder === undefined ? undefined : openImageStore({ folder, installation: INSTALLATION }),
    cluster: () => clusterUid(namespaces, systemNamespace),
  });
  return {
    name: 'unused-images',
    reconcile: () => collector.reconcile(),
    sources: [fromMapped(revisions, () => STORE), fromMapped(namespaces, () => STORE)],
  };
}

/** Makes revisions of deployments whose branch was pushed. */
function gitPushController(parts: Parts): ControllerSpec {
  const { config, deployments, revisions } = parts;
  const reconciler = new PushReconciler({
    ...parts,
    guard: repositoryGuard(config),
    periodMs: config.pushPeriodMs,
  });
  return controllerOf(
    'git-push',
    reconciler,
    [RESOURCES.AgentDeployment, deployments],
    [fromObjects(deployments), fromOwned(revisions, RESOURCES.AgentDeployment)],
  );
}

/** Controllers of workspaces and their agents, in the order in which they begin to work. */
export function agentControllers(parts: Parts): readonly ControllerSpec[] {
  return [
    workspaceController(parts),
    listenerController(parts),
    agentDeploymentController(parts),
    agentRevisionController(parts),
    unusedImagesController(parts),
    gitPushController(parts),
  ];
}
