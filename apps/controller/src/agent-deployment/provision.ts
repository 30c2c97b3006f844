import { randomUUID } from 'node:crypto';
import { Admission } from '#lib/admission';
import { databaseUri, type DeploymentDatabases } from '#lib/deployment-database';
import { WaitingError } from '#lib/errors';
import { applyManaged, type KubeClient } from '#lib/kube';
import {
  buildDatabaseSecret,
  buildPlatformSecret,
  CA_KEY,
  DATABASE_KEY,
  PLATFORM_KEY,
  wantedConnections,
  wantedResourceSpec,
  wantsDatabaseServer,
} from '#lib/manifests';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  ANNOTATION,
  CONDITION,
  databaseSecretName,
  idOf,
  isConditionTrue,
  keyOf,
  platformSecretName,
  REASON,
  RESOURCES,
  type Secret,
  SECRETS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { ApiKeys, Projects } from '#lib/trace-store';
import type { DatabaseServers } from './database-servers.js';
import { wireName } from './decide-revision.js';
import { requireOwned, secretValue } from './require-owned.js';

/** Half of the passes that there are at a time, for deployments of all workspaces. */
const MOST = 2;
const LOOK_MS = 1_000;

/**
 * Bounds how many Postgres servers of deployments' own are asked at once. The owner of such a server can delay its answers,
 * and holds half of the passes at most.
 */
export class ServerTurns {
  readonly #asked = new Admission({ capacity: MOST });

  /**
   *
   * @throws WaitingError while all places are taken
   */
  async take<T>(ask: () => Promise<T>): Promise<T> {
    const place = this.#asked.tryEnter();
    if (!place)
      throw new WaitingError(
        REASON.databaseStarting,
        `${MOST} Postgres servers of deployments are being asked; this one comes after them`,
        LOOK_MS,
      );
    return ask().finally(place.release);
  }
}

const DAY_MS = 86_400_000;

/** Stores in which the parts of a deployment outside the cluster are made. */
export interface ProvisioningStores {
  readonly projects: Pick<Projects, 'ensure' | 'find'>;
  readonly apiKeys: Pick<ApiKeys, 'mint' | 'revokeOfDeployment'>;
  readonly databases: DeploymentDatabases;
  /** Database servers of deployments that have one of their own. */
  readonly servers: Pick<DatabaseServers, 'isOffered' | 'find' | 'ensure' | 'release'>;
  /** A server where databases and roles may be created, which all others share. */
  readonly adminUri: string;
  /** True when pods of this cluster are processes of one machine. */
  readonly runsProcesses: boolean;
  /** Days after which the password of a database is replaced; 0 for never. */
  readonly passwordDays: number;
  readonly clock: Pick<Clock, 'now'>;
  /** Certificates (PEM) that pods of agents trust besides public ones. */
  readonly trustedCa?: string | undefined;
}

/** Facts about its database in a deployment's Secret. */
export interface KnownDatabase {
  /** Server of the database. */
  readonly server: 'own' | 'shared';
  /**
   * True when its URI and its trusted certificates match how the platform reaches its server now, and a
   * server of its own is ready.
   */
  readonly isCurrent: boolean;
  /** Mark on pods started since the URI was last replaced; undefined when it never was. */
  readonly mark: string | undefined;
  /** Connections that the server gave it, where they are fewer than were asked for. */
  readonly connections?: number | undefined;
}

/** Tracing project, platform key and database of a deployment. Every step may be repeated. */
export class DeploymentProvisioning {
  readonly #serverTurns = new ServerTurns();

  constructor(
    private readonly client: KubeClient,
    private readonly stores: ProvisioningStores,
  ) {}

  /** The id of the tracing project of the deployment's name. */
  async ensureProject(deployment: AgentDeployment, tenantId: string): Promise<string> {
    return (await this.stores.projects.ensure(tenantId, wireName(deployment))).id;
  }

  /** The id of that project; undefined when it was deleted. */
  async findProject(deployment: AgentDeployment, tenantId: string): Promise<string | undefined> {
    return (await this.stores.projects.find(tenantId, { name: wireName(deployment) }))?.id;
  }

  /** The deployment's own key, minted once into its Secret. */
  async ensurePlatformKey(deployment: AgentDeployment, tenantId: string): Promise<void> {
    const { name } = deployment.metadata;
    const existing = await this.#findOwn(deployment, platformSecretName(name));
    if (secretValue(existing, PLATFORM_KEY) !== undefined) return;
    // a key that was minted before its Secret could be written is lost, and must not stay valid
    await this.stores.apiKeys.revokeOfDeployment(tenantId, name);
    const { key } = await this.stores.apiKeys.mint(tenantId, {
      name: `deployment ${wireName(deployment)}`,
      scope: 'deployment',
      deployment: name,
      project: wireName(deployment),
    });
    await this.#applySecret(deployment, buildPlatformSecret(deployment, key), existing);
  }

  /** Reads the Secret of the database; undefined without one. */
  async findDatabase(deployment: AgentDeployment): Promise<KnownDatabase | undefined> {
    const { name, namespace = '' } = deployment.metadata;
    const secret = await this.client.find(SECRETS, { namespace, name: databaseSecretName(name) });
    const uri = secret && isOwnedBy(secret, deployment) ? secretValue(secret, DATABASE_KEY) : undefined;
    if (uri === undefined) return undefined;
    const login = { name: databaseName(idOf(deployment) ?? ''), password: passwordOf(uri) ?? '' };
    const isShared = uri === databaseUri({ ...login, adminUri: this.stores.adminUri });
    // a URI of the shared server is looked at no further: most deployments have one
    const own = isShared ? undefined : await this.stores.servers.find(deployment);
    const mark = secret?.metadata.annotations?.[ANNOTATION.database];
    const { trustedCa } = this.stores;
    return {
      server: own ? 'own' : 'shared',
      isCurrent:
        !this.#isPasswordOld(secret) &&
        secretValue(secret, CA_KEY) === trustedCa &&
        (trustedCa === undefined || mark !== undefined) &&
        (own
          ? own.isReady &&
            own.adminUri !== undefined &&
            uri === databaseUri({ ...login, adminUri: own.adminUri })
          : isShared),
      mark,
      connections: connectionsIn(secret?.metadata.annotations?.[ANNOTATION.databaseConnections]),
    };
  }

  /** True when deployments may have a server of their own. */
  get offersServers(): boolean {
    return this.stores.servers.isOffered;
  }

  /** True when pods of this cluster are processes of one machine. */
  get runsProcesses(): boolean {
    return this.stores.runsProcesses;
  }

  /**
   * Database and role, on the shared server or one of the deployment's own, and the Secret with their URI; the password in the
   * Secret stays until it is old, and is the role's again where the agent changed it. A URI or certificates that replace others get a new mark in the same write: pods without it have the former one.
   * The first certificates get one too, since pods without a mark do not read any.
   * @param mayHaveServer true when its pods reach a server in this cluster
   */
  async ensureDatabase(deployment: AgentDeployment, tenantId: string, mayHaveServer: boolean): Promise<void> {
    const existing = await this.#findOwn(deployment, databaseSecretName(deployment.metadata.name));
    const before = secretValue(existing, DATABASE_KEY);
    const isOld = this.#isPasswordOld(existing);
    const password = isOld ? undefined : passwordOf(before);
    const resourceSpec = wantedResourceSpec(deployment.spec);
    const maxConnections = resourceSpec?.dbMaxConnections ?? wantedConnections(resourceSpec);
    // data on the shared server stays there: nothing moves it
    const wantsServer = mayHaveServer && before === undefined && wantsDatabaseServer(deployment);
    const own = await this.stores.servers.ensure(deployment, wantsServer);
    const ensure = () =>
      this.stores.databases.ensure({
        adminUri: own ?? this.stores.adminUri,
        isShared: own === undefined,
        name: databaseName(idOf(deployment) ?? ''),
        workspace: tenantId,
        ...(password === undefined ? {} : { password }),
        maxConnections,
      });
    const { uri, connections } = await (own === undefined ? ensure() : this.#serverTurns.take(ensure));
    const wasMade =
      before !== undefined || isConditionTrue(deployment.status?.conditions, CONDITION.databaseReady);
    const { trustedCa } = this.stores;
    const isReplaced = wasMade && (before !== uri || secretValue(existing, CA_KEY) !== trustedCa);
    const former = existing?.metadata.annotations?.[ANNOTATION.database];
    const isUnmarked = former === undefined && trustedCa !== undefined;
    const mark = isReplaced || isUnmarked ? randomUUID() : former;
    const notes = {
      trustedCa,
      mark,
      connections: connections < maxConnections ? connections : undefined,
      passwordAt: isOld
        ? this.stores.clock.now().toISOString()
        : existing?.metadata.annotations?.[ANNOTATION.passwordAt],
    };
    await this.#applySecret(deployment, buildDatabaseSecret(deployment, uri, notes), existing);
  }

  /** Has the listener replace the deployment's pods by ones that read the URI of the database anew. */
  async markPods(deployment: AgentDeployment, mark: string): Promise<AgentDeployment> {
    const key = keyOf(deployment);
    const annotations = { [ANNOTATION.database]: mark };
    return await this.client.merge(RESOURCES.AgentDeployment, key, { metadata: { annotations } });
  }

  /**
   * Removes database, key and Secrets, and a server of its own with the volume. The tracing project and its runs stay. The
   * Secrets are not left to the garbage collector: the next deployment of the name must not find them.
   * @param id the deployment's own, whatever its annotation says
   */
  async release(deployment: AgentDeployment, id: string, tenantId: string | undefined): Promise<void> {
    const { name, namespace = '' } = deployment.metadata;
    const { databases, servers, apiKeys, adminUri } = this.stores;
    await servers.release(deployment);
    await databases.drop({ adminUri, name: databaseName(id) });
    if (tenantId !== undefined) await apiKeys.revokeOfDeployment(tenantId, name);
    for (const secretName of [platformSecretName(name), databaseSecretName(name)]) {
      const key = { namespace, name: secretName };
      const secret = await this.client.find(SECRETS, key);
      const { uid } = secret?.metadata ?? {};
      if (secret && uid !== undefined && isOwnedBy(secret, deployment))
        await this.client.delete(SECRETS, key, { uid });
    }
  }

  #isPasswordOld(secret: Secret | undefined): boolean {
    const { passwordDays, clock } = this.stores;
    const { annotations, creationTimestamp = '' } = secret?.metadata ?? {};
    const sinceMs = Date.parse(annotations?.[ANNOTATION.passwordAt] ?? creationTimestamp);
    return passwordDays > 0 && clock.now().getTime() - sinceMs > passwordDays * DAY_MS;
  }

  async #findOwn(deployment: AgentDeployment, name: string): Promise<Secret | undefined> {
    const key = { namespace: deployment.metadata.namespace ?? '', name };
    const secret = await this.client.find(SECRETS, key);
    return secret && requireOwned(secret, deployment);
  }

  async #applySecret(
    deployment: AgentDeployment,
    desired: Secret,
    existing: Secret | undefined,
  ): Promise<void> {
    await applyManaged(
      this.client,
      { kind: 'reference', ref: RESOURCES.AgentDeployment, object: deployment },
      { ref: SECRETS, desired, existing },
    );
  }
}

/**
 * Name of a deployment's database and role. It has the deployment's id, which survives a restore of the
 * cluster; names may be used again.
 */
function databaseName(id: string): string {
  return `agent_${id.replaceAll('-', '')}`;
}

function connectionsIn(annotation: string | undefined): number | undefined {
  return annotation !== undefined && /^\d{1,9}$/.test(annotation) ? Number(annotation) : undefined;
}

function passwordOf(uri: string | undefined): string | undefined {
  if (uri === undefined || !URL.canParse(uri)) return undefined;
  const { password } = new URL(uri);
  return password === '' ? undefined : decodeURIComponent(password);
}
