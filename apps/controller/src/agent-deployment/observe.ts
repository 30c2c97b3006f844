import type { KubeClient } from '#lib/kube';
import {
  type AgentDefaults,
  type AgentVolume,
  PLATFORM_KEY,
  type PodSecurityLevel,
  podSecurityOf,
  type RefusedObject,
} from '#lib/manifests';
import { postgresTrouble } from '#lib/postgres';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  CONDITION,
  DEFAULT_LISTENER,
  findCondition,
  idOf,
  isConditionTrue,
  isDeleting,
  type Listener,
  REASON,
  platformSecretName,
  type Secret,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import { type Caches, hostRivals, workspaceOf } from '../caches.js';
import { isHandled, listRevisions, ownRevisions } from './decide-revision.js';
import type { DeploymentProvisioning, KnownDatabase } from './provision.js';
import { findRefusedObject } from './refused-object.js';
import { secretValue } from './require-owned.js';

export type DeploymentCaches = Pick<
  Caches,
  'deployments' | 'revisions' | 'workspaces' | 'listeners' | 'destinations' | 'namespaces'
>;

/** Variables, base64 by name. */
export type Variables = Readonly<Record<string, string>>;

/** Everything that an AgentDeployment depends on, read before the decision. */
export interface DeploymentWorld {
  readonly deployment: AgentDeployment;
  readonly workspace: Workspace | undefined;
  /** Revisions by number, oldest first. */
  readonly revisions: readonly AgentRevision[];
  readonly listener: Listener | undefined;
  /** The Listener that should run the newest revision and does not exist. */
  readonly lostListener: string | undefined;
  /** The Listener of the newest revision when its heartbeats have ceased. */
  readonly silentListener: Listener | undefined;
  /** The tracing project of the deployment's name as it is now, or as it was seen last while the store is unavailable. */
  readonly tracingProjectId: string | undefined;
  /** The other deployments of the namespace. */
  readonly siblings: readonly AgentDeployment[];
  /** The other deployments, of all workspaces, that ask for the host of its custom URL. */
  readonly hostRivals: readonly AgentDeployment[];
  /** The deployment's own key; undefined before it was minted. */
  readonly platformKey: string | undefined;
  /** Undefined before the database was made. */
  readonly database: KnownDatabase | undefined;
  /** True when deployments may have a Postgres server of their own. */
  readonly offersServers: boolean;
  /** True when pods of this cluster are processes of one machine. */
  readonly runsProcesses: boolean;
  /** The user's variables; undefined when the Secret in `secretsRef` does not exist. */
  readonly environment: Variables | undefined;
  /** First object named by its variables or its resource spec that no agent may use. */
  readonly refusedObject: RefusedObject | undefined;
  /** Kinds of volumes that agents may have beside those that need no storage. */
  readonly agentVolumes: readonly AgentVolume[];
  /**
   * Settings of pods that apply unless the resource spec sets them: the Workspace's fields, else those of
   * this cluster.
   */
  readonly defaults: AgentDefaults;
  /** Pod security level that its namespace enforces; undefined when it is not known. */
  readonly podSecurity: PodSecurityLevel | undefined;
  /** The variables that the newest revision repeats, while it has none of its own. */
  readonly repeated: Variables | undefined;
}

/** The name of the Listener that is asked for; undefined when it is asked for by an unknown id. */
export function listenerNameOf(
  deployment: AgentDeployment,
  listeners: readonly Listener[],
): string | undefined {
  const { listenerRef, sourceConfig } = deployment.spec;
  const id = sourceConfig.listenerId?.toLowerCase();
  if (listenerRef) return listenerRef.name;
  if (id === undefined) return DEFAULT_LISTENER;
  return listeners.find((listener) => idOf(listener) === id)?.metadata.name;
}

/** True when the variables of a revision are stored, which happens before its image is built. */
export function hasVariables({ status }: AgentRevision): boolean {
  return isConditionTrue(status?.conditions, CONDITION.variablesReady);
}

/** Sources from which the world of a deployment is read, beside the caches. */
export interface DeploymentSources {
  readonly client: KubeClient;
  readonly provisioning: Pick<
    DeploymentProvisioning,
    'findProject' | 'findDatabase' | 'offersServers' | 'runsProcesses'
  >;
  /** Names of Secrets with logins of registries, which nodes use to pull images. */
  readonly registrySecrets: readonly string[];
  readonly agentVolumes: readonly AgentVolume[];
  readonly agentDefaults: AgentDefaults;
}

/** Reads the caches, the tracing project, and by name the Secrets that no cache may hold; writes nothing. */
export async function observeDeployment(
  { client, provisioning, registrySecrets, agentVolumes, agentDefaults }: DeploymentSources,
  caches: DeploymentCaches,
  deployment: AgentDeployment,
): Promise<DeploymentWorld> {
  const { namespace = '', name, uid } = deployment.metadata;
  const listeners = caches.listeners.list(namespace);
  const listenerName = listenerNameOf(deployment, listeners);
  const revisions = byNumber(await presentRevisions(client, caches, deployment));
  const findSecret = (secret: string) => client.find(SECRETS, { namespace, name: secret });
  const platformSecret = await findSecret(platformSecretName(name));
  const { secretsRef } = deployment.spec;
  const named = secretsRef && (await findSecret(secretsRef.name));
  const workspace = workspaceOf(caches.workspaces, namespace);
  const listener = listeners.find(({ metadata }) => metadata.name === listenerName);
  return {
    deployment,
    workspace,
    tracingProjectId: await presentProject(provisioning, deployment, workspace?.spec.tenantId),
    revisions,
    listener,
    lostListener: lostListener(revisions.at(-1), listeners),
    silentListener: silentListener(revisions.at(-1), listeners),
    siblings: caches.deployments.list(namespace).filter(({ metadata }) => metadata.uid !== uid),
    hostRivals: hostRivals(caches.deployments, deployment),
    platformKey: secretValue(ownedBy(deployment, platformSecret), PLATFORM_KEY),
    database: await provisioning.findDatabase(deployment),
    offersServers: provisioning.offersServers,
    runsProcesses: provisioning.runsProcesses,
    environment: secretsRef ? variablesOf(named) : {},
    refusedObject: await findRefusedObject({
      deployment,
      revisions,
      caches,
      registrySecrets,
      findSecret,
      variables: named,
      isRemote: listener?.spec.remote !== undefined,
    }),
    agentVolumes,
    // the nodes of another cluster are not those of this one
    defaults: listener?.spec.remote ? {} : { ...agentDefaults, ...workspace?.spec.agentPlacement },
    podSecurity: podSecurityOf(caches.namespaces.find({ name: namespace }) ?? { metadata: {} }),
    repeated: await repeatedVariables(findSecret, revisions),
  };
}

/**
 * Revisions from the cache, or from the server when a request names a revision that the cache does not show
 * yet.
 */
async function presentRevisions(
  client: KubeClient,
  caches: DeploymentCaches,
  deployment: AgentDeployment,
): Promise<readonly AgentRevision[]> {
  const cached = ownRevisions(caches.revisions, deployment).filter((revision) => !isDeleting(revision));
  const from = deployment.spec.revisionRequest?.fromRevisionId?.toLowerCase();
  if (from === undefined || isHandled(deployment, cached) || cached.some((one) => idOf(one) === from))
    return cached;
  return (await listRevisions(client, deployment)).filter((revision) => !isDeleting(revision));
}

/** Once made, a project may be deleted by anyone with a key of the workspace; nothing wakes the deployment then. */
async function presentProject(
  provisioning: Pick<DeploymentProvisioning, 'findProject'>,
  deployment: AgentDeployment,
  tenantId: string | undefined,
): Promise<string | undefined> {
  const known = deployment.status?.tracingProjectId;
  if (known === undefined || tenantId === undefined) return known;
  try {
    return await provisioning.findProject(deployment, tenantId);
  } catch (error) {
    // revisions are made and suspended without the trace store
    if (postgresTrouble(error) === 'unavailable') return known;
    throw error;
  }
}

async function repeatedVariables(
  findSecret: (name: string) => Promise<Secret | undefined>,
  revisions: readonly AgentRevision[],
): Promise<Variables | undefined> {
  const latest = revisions.at(-1);
  if (!latest || hasVariables(latest)) return undefined;
  const of = revisions.find(({ metadata }) => metadata.name === latest.spec.redeployOf);
  return of && variablesOf(await findSecret(of.spec.envSecretName));
}

function lostListener(latest: AgentRevision | undefined, listeners: readonly Listener[]): string | undefined {
  const name = latest?.spec.listenerName;
  return listeners.some(({ metadata }) => metadata.name === name) ? undefined : name;
}

function silentListener(
  latest: AgentRevision | undefined,
  listeners: readonly Listener[],
): Listener | undefined {
  const listener = listeners.find(({ metadata }) => metadata.name === latest?.spec.listenerName);
  return listener && isSilent(listener) ? listener : undefined;
}

/**
 * True when a listener sent heartbeats and has stopped. A listener that is refused reports the reason itself.
 */
export function isSilent({ status }: Listener): boolean {
  const heard = findCondition(status?.conditions, CONDITION.heartbeatFresh);
  return heard?.status === 'False' && heard.reason === REASON.noHeartbeat;
}

function variablesOf(secret: Secret | undefined): Variables | undefined {
  return secret && (secret.data ?? {});
}

function ownedBy(deployment: AgentDeployment, secret: Secret | undefined): Secret | undefined {
  return secret && isOwnedBy(secret, deployment) ? secret : undefined;
}

function byNumber(revisions: readonly AgentRevision[]): readonly AgentRevision[] {
  return revisions.toSorted((a, b) => a.spec.number - b.spec.number);
}
