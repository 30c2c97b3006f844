import { randomBytes } from 'node:crypto';
import { TerminalError, WaitingError } from '#lib/errors';
import { applyManaged, isForbidden, isInvalid, type KubeClient } from '#lib/kube';
import {
  buildServerClaim,
  buildServerPolicy,
  buildServerSecret,
  buildServerService,
  buildServerStatefulSet,
  type DatabaseServerSettings,
  databaseServerUri,
  type PlatformSettings,
  SERVER_PASSWORD_KEY,
} from '#lib/manifests';
import { containerStatuses } from '#lib/pod-logs';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  databaseServerName,
  EVENTS,
  type KubeEvent,
  type KubeObject,
  NETWORK_POLICIES,
  type ObjectKey,
  PERSISTENT_VOLUME_CLAIMS,
  type Pod,
  POD_SCHEDULED,
  PODS,
  REASON,
  type ResourceRef,
  RESOURCES,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  type StatefulSet,
} from '#lib/resources';
import { requireOwned, secretValue } from './require-owned.js';

/** Reasons of containers that are starting. */
const STARTS = new Set(['ContainerCreating', 'PodInitializing']);
const STARTING = 'its pod is starting';
/** Limit of events: any writer of events in the namespace can make any number, of a megabyte each. */
const MOST_EVENTS = 20;
const MOST_CHARACTERS = 1_000;

/** True when the one pod of a StatefulSet is ready and runs its current revision. */
function isServerReady(statefulSet: StatefulSet | undefined): boolean {
  const { status, metadata } = statefulSet ?? {};
  return (
    status !== undefined &&
    status.observedGeneration === metadata?.generation &&
    status.currentRevision === status.updateRevision &&
    (status.readyReplicas ?? 0) > 0
  );
}

/** Reason why the pod is not ready, as itself and the events of its StatefulSet report it. */
export async function serverTrouble(
  client: KubeClient,
  { namespace, name }: ObjectKey,
  statefulSet: StatefulSet | undefined,
): Promise<string> {
  const pod = await client.find(PODS, { namespace, name: `${name}-0` });
  if (pod) return podTrouble(pod) ?? STARTING;
  if (!statefulSet) return 'it does not exist';
  // a StatefulSet whose pod is refused says so in events alone
  const pages = client.pages<KubeEvent>(EVENTS, {
    ...(namespace === undefined ? {} : { namespace }),
    pageSize: MOST_EVENTS,
    fieldSelector: `involvedObject.kind=StatefulSet,involvedObject.name=${name},type=Warning`,
  });
  const { value } = await pages.next();
  const items = value ? value.items : [];
  const [last] = items.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  return last?.message?.slice(0, MOST_CHARACTERS) ?? STARTING;
}

function podTrouble(pod: Pod): string | undefined {
  const scheduled = pod.status?.conditions?.find(({ type }) => type === POD_SCHEDULED);
  if (scheduled?.status === 'False')
    return `no node takes its pod: ${scheduled.message ?? scheduled.reason ?? 'no reason given'}`;
  for (const { state, lastState } of containerStatuses(pod)) {
    const ended = state?.terminated ?? lastState?.terminated;
    if (ended) {
      const said = (ended.message ?? '').trim().split('\n').at(-1);
      return [`Postgres ended with ${ended.exitCode}`, ended.reason, said].filter(Boolean).join(': ');
    }
    const { reason, message } = state?.waiting ?? {};
    if (reason !== undefined && !STARTS.has(reason)) return [reason, message].filter(Boolean).join(': ');
  }
  return undefined;
}

function timeOf({ lastTimestamp, eventTime }: KubeEvent): string {
  return lastTimestamp ?? eventTime ?? '';
}

const STARTING_MS = 2_000;
const DELETING_MS = 1_000;

/** A deployment's own Postgres server, as it is. */
export interface KnownServer {
  /** Connection URI of the superuser; undefined while the Secret holds no password. */
  readonly adminUri: string | undefined;
  readonly isReady: boolean;
}

export interface DatabaseServersOptions {
  readonly client: KubeClient;
  /** Absent: no deployment gets a server of its own; those that have one keep it as it is. */
  readonly server: DatabaseServerSettings | undefined;
  readonly settings: PlatformSettings;
  /** Builds the URI by which the superuser reaches a server. */
  readonly uriOf?: typeof databaseServerUri;
}

/**
 * Postgres servers of deployments that ask for one of their own: Secret, NetworkPolicy, Service, PersistentVolumeClaim
 * and StatefulSet, in the namespace of the deployment. The Secret is made first and removed last: while it exists, the
 * deployment has a server.
 */
export class DatabaseServers {
  constructor(private readonly options: DatabaseServersOptions) {}

  /** True when deployments may have a server of their own. */
  get isOffered(): boolean {
    return this.options.server !== undefined;
  }

  /** The server of the deployment; undefined when it has none. Reads only. */
  async find(deployment: AgentDeployment): Promise<KnownServer | undefined> {
    const { client, server } = this.options;
    const secret = await client.find(SECRETS, keyOfServer(deployment));
    if (!secret || !isOwnedBy(secret, deployment)) return undefined;
    const password = secretValue(secret, SERVER_PASSWORD_KEY);
    const statefulSet = await client.find(STATEFUL_SETS, keyOfServer(deployment));
    const [container] = statefulSet?.spec.template.spec.containers ?? [];
    return {
      adminUri: password === undefined ? undefined : this.#uriOf(deployment, password),
      isReady: isServerReady(statefulSet) && (!server || container?.image === server.image),
    };
  }

  /**
   * The URI of the superuser of the deployment's own server, which is made what it should be; undefined when the deployment
   * has none and is to have none.
   * @throws WaitingError `DatabaseStarting` until its pod is ready, TerminalError `DatabaseRefused` when the cluster refuses a
   *   part of it
   */
  async ensure(deployment: AgentDeployment, isWanted: boolean): Promise<string | undefined> {
    const { client, server } = this.options;
    const key = keyOfServer(deployment);
    const found = await client.find(SECRETS, key);
    const existing = found && requireOwned(found, deployment);
    const known = secretValue(existing, SERVER_PASSWORD_KEY);
    if (known === undefined) await this.#refuseLostPassword(deployment);
    if (!existing && (!isWanted || !server)) return undefined;
    const password = known ?? randomBytes(24).toString('hex');
    if (server) {
      const desired = buildServerSecret(deployment, password);
      await this.#apply(deployment, { ref: SECRETS, desired, existing });
      await this.#applyServer(deployment, server);
    }
    const statefulSet = await client.find(STATEFUL_SETS, key);
    if (!isServerReady(statefulSet)) {
      const trouble = await serverTrouble(client, key, statefulSet);
      throw new WaitingError(
        REASON.databaseStarting,
        `waiting for Postgres of its own, StatefulSet ${key.name}: ${trouble}`,
        STARTING_MS,
      );
    }
    return this.#uriOf(deployment, password);
  }

  /**
   * Removes the server and its volume with everything in it.
   * @throws WaitingError until the volume is gone: the next deployment of the name must not find it
   */
  async release(deployment: AgentDeployment): Promise<void> {
    const { client } = this.options;
    const key = keyOfServer(deployment);
    const secret = await client.find(SECRETS, key);
    if (!secret || !isOwnedBy(secret, deployment)) return;
    for (const ref of [STATEFUL_SETS, SERVICES, PERSISTENT_VOLUME_CLAIMS, NETWORK_POLICIES])
      await this.#delete(deployment, ref, key);
    const claim = await client.find(PERSISTENT_VOLUME_CLAIMS, key);
    if (claim && isOwnedBy(claim, deployment))
      throw new WaitingError(
        REASON.deleting,
        `PersistentVolumeClaim ${key.name} is being deleted`,
        DELETING_MS,
      );
    await this.#delete(deployment, SECRETS, key);
  }

  async #applyServer(deployment: AgentDeployment, server: DatabaseServerSettings): Promise<void> {
    const { client, settings } = this.options;
    const key = keyOfServer(deployment);
    if (server.controllerNamespace === undefined) await this.#delete(deployment, NETWORK_POLICIES, key);
    else
      await this.#apply(deployment, {
        ref: NETWORK_POLICIES,
        desired: buildServerPolicy(deployment, server.controllerNamespace),
        existing: await client.find(NETWORK_POLICIES, key),
      });
    await this.#apply(deployment, {
      ref: SERVICES,
      desired: buildServerService(deployment),
      existing: await client.find(SERVICES, key),
    });
    const claim = await client.find(PERSISTENT_VOLUME_CLAIMS, key);
    await this.#apply(deployment, {
      ref: PERSISTENT_VOLUME_CLAIMS,
      desired: buildServerClaim(deployment, server.storageClass, claim),
      existing: claim,
    });
    await this.#apply(deployment, {
      ref: STATEFUL_SETS,
      desired: buildServerStatefulSet(deployment, server, settings),
      existing: await client.find(STATEFUL_SETS, key),
    });
  }

  /** A volume whose password is lost is no reason to begin anew, on another server and without what is in it. */
  async #refuseLostPassword(deployment: AgentDeployment): Promise<void> {
    const { client, server } = this.options;
    if (!server) return;
    const key = keyOfServer(deployment);
    const claim = await client.find(PERSISTENT_VOLUME_CLAIMS, key);
    if (!claim || !isOwnedBy(claim, deployment)) return;
    throw new TerminalError(
      REASON.databaseRefused,
      `opening the database failed: Secret ${key.name} does not have the password of its server; restore it, or delete PersistentVolumeClaim ${key.name} to begin with an empty database`,
    );
  }

  async #apply<T extends KubeObject>(
    deployment: AgentDeployment,
    child: Parameters<typeof applyManaged<T>>[2],
  ): Promise<void> {
    const owner = { kind: 'reference', ref: RESOURCES.AgentDeployment, object: deployment } as const;
    try {
      await applyManaged<T>(this.options.client, owner, child);
    } catch (error) {
      if (!isInvalid(error) && !isForbidden(error)) throw error;
      throw new TerminalError(
        REASON.databaseRefused,
        `applying ${child.ref.kind} ${databaseServerName(deployment.metadata.name)} for the database failed: ${error.message}`,
        { cause: error },
      );
    }
  }

  async #delete(deployment: AgentDeployment, ref: ResourceRef, key: ObjectKey): Promise<void> {
    const { client } = this.options;
    const found = await client.find(ref, key);
    const { uid } = found?.metadata ?? {};
    if (found && uid !== undefined && isOwnedBy(found, deployment)) await client.delete(ref, key, { uid });
  }

  #uriOf(deployment: AgentDeployment, password: string): string {
    return (this.options.uriOf ?? databaseServerUri)(deployment, password);
  }
}

function keyOfServer({ metadata }: AgentDeployment): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: databaseServerName(metadata.name) };
}
