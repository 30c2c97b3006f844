import {
  type AgentDeployment,
  type AgentDeploymentSpec,
  COMPONENT,
  databaseServerName,
  LABEL,
  type NetworkPolicy,
  type PersistentVolumeClaim,
  type PodContainer,
  type ResourceSpec,
  type Secret,
  type Service,
  type SourceConfig,
  type StatefulSet,
} from '#lib/resources';
import { CONTAINER_SECURITY, platformLabels, platformPodSecurity, userMetadata } from './object-labels.js';
import type { PlatformSettings } from './platform-settings.js';
import { placementOf } from './pod-placement.js';
import { podResources } from './pod-resources.js';

/** Resources for the sizes of deployments from git; docs/design/resource-spec.md has them as a table. */
export const DEPLOYMENT_TYPES: Readonly<
  Record<NonNullable<SourceConfig['deploymentType']>, Readonly<ResourceSpec>>
> = {
  // a start is a core's work for some seconds: twice the request would make that a fifth of a core
  dev_free: { minScale: 1, cpu: 0.1, cpuLimit: 1, memoryMb: 256, memoryLimitMb: 1024 },
  dev: { minScale: 1, cpu: 0.5, memoryMb: 512, memoryLimitMb: 2048 },
  prod: { minScale: 2, cpu: 1, memoryMb: 1024, memoryLimitMb: 4096 },
};

/** Resource spec for the workloads of a deployment: its own, or, from git, that of its size. */
export function wantedResourceSpec({
  source,
  sourceConfig: { resourceSpec, deploymentType },
}: Pick<AgentDeploymentSpec, 'source' | 'sourceConfig'>): ResourceSpec | undefined {
  const size =
    source === 'git_host' && deploymentType !== undefined ? DEPLOYMENT_TYPES[deploymentType] : undefined;
  return resourceSpec ?? size;
}

/** Port of Postgres. */
const DATABASE_PORT = 5432;

/** Selects the pod of a deployment's own Postgres server. */
function serverSelector({ metadata }: AgentDeployment): Readonly<Record<string, string>> {
  return { [LABEL.databaseOf]: metadata.name, [LABEL.component]: COMPONENT.agentDatabase };
}

/**
 * Metadata of all objects of a server. The pod has none of the user's labels: a change of them would start
 * the server again.
 */
function serverMetadata(deployment: AgentDeployment): Secret['metadata'] {
  const { labels, ...annotations } = userMetadata(wantedResourceSpec(deployment.spec));
  return {
    name: databaseServerName(deployment.metadata.name),
    namespace: deployment.metadata.namespace,
    labels: {
      ...labels,
      ...platformLabels(COMPONENT.agentDatabase, { [LABEL.databaseOf]: deployment.metadata.name }),
    },
    ...annotations,
  };
}

/** Pods of the controller, as the chart labels them: they make database and role. */
const CONTROLLER = { 'app.kubernetes.io/name': 'agentplane', [LABEL.component]: 'controller' };

/**
 * Allows connections to the server from agents of its deployment, and from the controller. It opens no
 * connection itself. Policies add up, so that users allow more by one of their own.
 * @param controllerNamespace namespace of the controller's pods
 */
export function buildServerPolicy(deployment: AgentDeployment, controllerNamespace: string): NetworkPolicy {
  const agents = [COMPONENT.agentApi, COMPONENT.agentQueue];
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: serverMetadata(deployment),
    spec: {
      podSelector: { matchLabels: serverSelector(deployment) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        {
          from: [
            {
              podSelector: {
                matchLabels: { [LABEL.deployment]: deployment.metadata.name },
                matchExpressions: [{ key: LABEL.component, operator: 'In', values: agents }],
              },
            },
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': controllerNamespace } },
              podSelector: { matchLabels: CONTROLLER },
            },
          ],
          ports: [{ port: DATABASE_PORT, protocol: 'TCP' }],
        },
      ],
    },
  };
}

/** Postgres servers of deployments that ask for one of their own. */
export interface DatabaseServerSettings {
  /** Image of Postgres, with the entry point of the official one. */
  readonly image: string;
  /** User and group that its files belong to. */
  readonly userId: number;
  /** Class of the volumes; the default of the cluster when absent. */
  readonly storageClass?: string | undefined;
  /** Namespace of the controller's pods, which a NetworkPolicy admits beside the agent's; without one when absent. */
  readonly controllerNamespace?: string | undefined;
}

/** Key of the superuser's password in the Secret of a server. */
export const SERVER_PASSWORD_KEY = 'password';

const DEFAULT_STORAGE_GI = 10;
const DEFAULT_MEMORY_MB = 256;
/** Connections of a server that remain for the platform and for people. */
const SPARE_CONNECTIONS = 10;
/**
 * Minimum number of connections: with fewer, the number of an agent's pods, which decides the connections,
 * would start the server again.
 */
const FEWEST_CONNECTIONS = 110;
/** Postgres' own default. */
const MAX_SHARED_BUFFERS_MB = 8_192;
const MIN_SHARED_BUFFERS_MB = 16;
const FOLDER = '/data';

/** Fields of the resource spec that ask for a Postgres server of the deployment's own. */
export const DATABASE_SERVER_FIELDS = [
  'dbCpu',
  'dbCpuLimit',
  'dbMemoryMb',
  'dbMemoryLimitMb',
  'dbStorageGi',
] as const satisfies readonly (keyof ResourceSpec)[];

/** True when a deployment asks for a Postgres server of its own: any field about its size does. */
export function wantsDatabaseServer(deployment: Pick<AgentDeployment, 'spec'>): boolean {
  const wanted = wantedResourceSpec(deployment.spec) ?? {};
  return DATABASE_SERVER_FIELDS.some((field) => wanted[field] !== undefined);
}

/** The superuser's URI of a deployment's own server, within its cluster. */
export function databaseServerUri({ metadata }: Pick<AgentDeployment, 'metadata'>, password: string): string {
  const host = `${databaseServerName(metadata.name)}.${metadata.namespace ?? 'default'}.svc`;
  return `postgres://postgres:${encodeURIComponent(password)}@${host}:${DATABASE_PORT}/postgres?require_auth=scram-sha-256`;
}

/** The superuser's password, made once: Postgres keeps the first it was started with. */
export function buildServerSecret(deployment: AgentDeployment, password: string): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: serverMetadata(deployment),
    type: 'Opaque',
    data: { [SERVER_PASSWORD_KEY]: Buffer.from(password, 'utf8').toString('base64') },
  };
}

/** The name of the server; headless, since it has one pod. */
export function buildServerService(deployment: AgentDeployment): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: serverMetadata(deployment),
    spec: {
      clusterIP: 'None',
      selector: serverSelector(deployment),
      ports: [{ name: 'postgres', port: DATABASE_PORT, targetPort: 'postgres', protocol: 'TCP' }],
    },
  };
}

/**
 * The volume of the server. Its class and, where no size is asked for, its size stay as they are.
 * @param existing the volume as it is, where there is one
 */
export function buildServerClaim(
  deployment: AgentDeployment,
  storageClass: string | undefined,
  existing?: PersistentVolumeClaim,
): PersistentVolumeClaim {
  const { dbStorageGi } = wantedResourceSpec(deployment.spec) ?? {};
  const present = existing?.spec.resources?.requests?.['storage'];
  const storage = dbStorageGi === undefined ? present : `${dbStorageGi}Gi`;
  const storageClassName = existing ? existing.spec.storageClassName : storageClass;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: serverMetadata(deployment),
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClassName === undefined ? {} : { storageClassName }),
      resources: { requests: { storage: storage ?? `${DEFAULT_STORAGE_GI}Gi` } },
    },
  };
}

/** The server itself. It restarts when its pod template changes. */
export function buildServerStatefulSet(
  deployment: AgentDeployment,
  server: DatabaseServerSettings,
  settings: PlatformSettings,
): StatefulSet {
  const name = databaseServerName(deployment.metadata.name);
  const selector = serverSelector(deployment);
  const identity = { runAsUser: server.userId, runAsGroup: server.userId, fsGroup: server.userId };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: serverMetadata(deployment),
    spec: {
      replicas: 1,
      serviceName: name,
      revisionHistoryLimit: 1,
      // OrderedReady would wait for a pod that can never be ready instead of replacing it
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            ...platformPodSecurity(settings),
            ...identity,
            fsGroupChangePolicy: 'OnRootMismatch',
          },
          ...placementOf(settings),
          terminationGracePeriodSeconds: 60,
          containers: [serverContainer(deployment, server)],
          volumes: [
            { name: 'data', persistentVolumeClaim: { claimName: name } },
            { name: 'run', emptyDir: { sizeLimit: '16Mi' } },
            { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
          ],
        },
      },
    },
  };
}

function serverContainer(deployment: AgentDeployment, { image }: DatabaseServerSettings): PodContainer {
  const { dbCpu, dbCpuLimit, dbMemoryMb, dbMemoryLimitMb, dbMaxConnections } =
    wantedResourceSpec(deployment.spec) ?? {};
  const connections = Math.max(FEWEST_CONNECTIONS, (dbMaxConnections ?? 0) + SPARE_CONNECTIONS);
  const memoryMb = dbMemoryMb ?? Math.min(DEFAULT_MEMORY_MB, dbMemoryLimitMb ?? DEFAULT_MEMORY_MB);
  const buffersMb = Math.min(MAX_SHARED_BUFFERS_MB, Math.max(MIN_SHARED_BUFFERS_MB, memoryMb >> 2));
  const secret = databaseServerName(deployment.metadata.name);
  return {
    name: 'postgres',
    image,
    args: ['-c', `max_connections=${connections}`, '-c', `shared_buffers=${buffersMb}MB`],
    env: [
      // below the volume, whose root may hold lost+found
      { name: 'PGDATA', value: `${FOLDER}/pgdata` },
      {
        name: 'POSTGRES_PASSWORD',
        valueFrom: { secretKeyRef: { name: secret, key: SERVER_PASSWORD_KEY } },
      },
    ],
    ports: [{ name: 'postgres', containerPort: DATABASE_PORT, protocol: 'TCP' }],
    // the probe uses TCP: the server that makes the first database listens on its socket only
    readinessProbe: {
      exec: { command: ['pg_isready', '-h', '127.0.0.1', '-U', 'postgres'] },
      periodSeconds: 2,
      timeoutSeconds: 3,
    },
    resources: podResources({
      ...(dbCpu === undefined ? {} : { cpu: dbCpu }),
      ...(dbCpuLimit === undefined ? {} : { cpuLimit: dbCpuLimit }),
      ...(dbMemoryMb === undefined ? {} : { memoryMb: dbMemoryMb }),
      ...(dbMemoryLimitMb === undefined ? {} : { memoryLimitMb: dbMemoryLimitMb }),
    }),
    securityContext: { ...CONTAINER_SECURITY, readOnlyRootFilesystem: true },
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'data', mountPath: FOLDER },
      { name: 'run', mountPath: '/var/run/postgresql' },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}
