import { createHmac } from 'node:crypto';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  COMPONENT,
  type Container,
  type Deployment,
  digestIdleToken,
  type EnvironmentVariable,
  LABEL,
  type PodContainer,
  type PodSpec,
  type Probe,
  type ResourceSpec,
} from '#lib/resources';
import { addressOf } from './address-of.js';
import { CA_KEY, CA_VARIABLE } from './deployment-secrets.js';
import { isBuiltSource } from './deployment-source.js';
import {
  agentPodSecurity,
  annotationsPart,
  CONTAINER_SECURITY,
  platformLabels,
  userAnnotations,
  userLabels,
} from './object-labels.js';
import type { PlatformSettings } from './platform-settings.js';
import { agentPlacementOf, runtimePlacement } from './pod-placement.js';
import {
  METRICS_ANNOTATIONS,
  METRICS_CONTAINER_PORT,
  podResources,
  telemetryEnvironment,
  type WantedResources,
} from './pod-resources.js';

/**
 * The token with which a listener asks the pods of a revision if they may be stopped. Pods know only its
 * digest, so that neither their own code nor a reader of their spec can ask. It is not stored: the key and
 * the revision give it again.
 * @param key of the listener, from its Secret
 */
export function idleToken({ metadata: { uid = '' } }: AgentRevision, key: string): string {
  return createHmac('sha256', key).update(uid).digest('hex');
}

/** Numbers of pods, which are no part of what a revision is. */
const SCALE_FIELDS: ReadonlySet<string> = new Set([
  'minScale',
  'maxScale',
  'queueMinScale',
  'queueMaxScale',
] satisfies (keyof ResourceSpec)[]);

/** A resource spec with the numbers of pods of another one; undefined when nothing is in it. */
export function withScaleOf(
  resourceSpec: ResourceSpec | undefined,
  scale: ResourceSpec | undefined,
): ResourceSpec | undefined {
  const entries = [
    ...Object.entries(resourceSpec ?? {}).filter(([name]) => !SCALE_FIELDS.has(name)),
    ...Object.entries(scale ?? {}).filter(([name]) => SCALE_FIELDS.has(name)),
  ];
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * A revision with the numbers of pods that its deployment asks for now: scaling makes no revision. Those of a deployment
 * from git come from its size.
 */
export function scaledRevision(revision: AgentRevision, { spec }: AgentDeployment): AgentRevision {
  if (spec.source === 'git_host') return revision;
  const { resourceSpec: former, ...rest } = revision.spec;
  const resourceSpec = withScaleOf(former, spec.sourceConfig.resourceSpec);
  return { ...revision, spec: { ...rest, ...(resourceSpec ? { resourceSpec } : {}) } };
}

/** Name of the agent's own container. */
export const AGENT_CONTAINER = 'agent';

/** Port of the agent server in a cluster; on one machine the node chooses another. */
const AGENT_PORT = 8000;

const OK = { path: '/ok', port: 'http' } as const;
const READINESS: Probe = { httpGet: OK, periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 3 };
// loading graphs may take a while, and killing a slow start only makes it slower
const LIVENESS: Probe = {
  httpGet: OK,
  initialDelaySeconds: 60,
  periodSeconds: 15,
  timeoutSeconds: 5,
  failureThreshold: 6,
};

/** A revision, or what it will ask for. */
interface Wanting {
  readonly spec: Pick<AgentRevision['spec'], 'resourceSpec'>;
}

/**
 * True when the pods of a revision are stopped while it is not used. A queue that always has pods could do
 * due work, but not without those that answer HTTP.
 */
export function maySleep({ spec: { resourceSpec = {} } }: Wanting): boolean {
  return resourceSpec.minScale === 0 && (resourceSpec.queueMinScale ?? 0) === 0;
}

/** Pods that a revision needs when it runs: at least one. */
export function wantedReplicas(revision: Wanting): number {
  return Math.max(1, revision.spec.resourceSpec?.minScale ?? 1);
}

/** True when runs have pods of their own: any field about them asks for that. */
function wantsQueue({ spec: { resourceSpec = {} } }: Wanting): boolean {
  const { queueMinScale, queueMaxScale, queueCpu, queueCpuLimit, queueMemoryMb, queueMemoryLimitMb } =
    resourceSpec;
  return [queueMinScale, queueMaxScale, queueCpu, queueCpuLimit, queueMemoryMb, queueMemoryLimitMb].some(
    (field) => field !== undefined,
  );
}

/** Pods that a Deployment has: the fewest while nothing waits, the most while much does. */
export interface PodRange {
  readonly min: number;
  readonly max: number;
}

/**
 * Pods that answer HTTP, and take runs where no others do. As many as `minScale` says where there is no `maxScale` above
 * it.
 */
export function answeringRange(revision: Wanting): PodRange {
  const min = wantedReplicas(revision);
  return { min, max: Math.max(min, revision.spec.resourceSpec?.maxScale ?? min) };
}

/** True when the number of pods that answer HTTP follows their load. */
export function isAnsweringScaled(revision: Wanting): boolean {
  const { min, max } = answeringRange(revision);
  return min < max;
}

/** Pods that take runs of a revision; undefined where those that answer HTTP take them too. */
export function queueRange(revision: Wanting): PodRange | undefined {
  if (!wantsQueue(revision)) return undefined;
  const { queueMinScale, queueMaxScale, maxScale } = revision.spec.resourceSpec ?? {};
  const most = queueMaxScale ?? maxScale;
  const fewest = queueMinScale ?? Math.min(wantedReplicas(revision), most ?? Infinity);
  const min = Math.max(1, fewest);
  return { min, max: Math.max(min, most ?? min) };
}

/** The fewest pods that take runs of a revision; undefined where those that answer HTTP take them too. */
export function wantedQueueReplicas(revision: Wanting): number | undefined {
  return queueRange(revision)?.min;
}

/** Connections to its database that an agent server holds at most: its pool, and two that are kept aside. */
const POD_CONNECTIONS = 9;

/** Connections for people who look into the database of a deployment. */
const SPARE_CONNECTIONS = 2;

/** Default limit for one deployment: others use the same server. */
const MAX_CONNECTIONS = 100;

/**
 * Connections that all pods of a deployment need while one revision follows another: of the one that serves and of the one
 * that is to take over, with as many pods as either may have, and of the one that is kept warm and of one that ends, with
 * the fewest.
 */
export function wantedConnections(resourceSpec: AgentRevision['spec']['resourceSpec']): number {
  const wanted = { spec: resourceSpec ? { resourceSpec } : {} };
  const [answering, taking] = [answeringRange(wanted), queueRange(wanted)];
  const most = answering.max + (taking?.max ?? 0);
  const fewest = answering.min + (taking?.min ?? 0);
  return Math.min(MAX_CONNECTIONS, 2 * POD_CONNECTIONS * (most + fewest) + SPARE_CONNECTIONS);
}

/**
 * Pods of all revisions of a deployment that find a connection to its database.
 * @param given connections that the server gave it, where they are fewer than were asked for
 */
export function podsThatConnect(
  resourceSpec: AgentRevision['spec']['resourceSpec'],
  given = Infinity,
): number {
  const wanted = resourceSpec?.dbMaxConnections ?? wantedConnections(resourceSpec);
  return Math.floor((Math.min(wanted, given) - SPARE_CONNECTIONS) / POD_CONNECTIONS);
}

/** Name of the Deployment that takes runs beside the one of this name. */
export function queueName(workload: string): string {
  return `${workload}-queue`;
}

/**
 * Selects the pods of a revision that answer HTTP, and no others: a revision may have pods of another component beside
 * them. Selectors of Deployments are immutable, so this is a stored shape.
 * @param workload name of the Deployment, which is the name of the revision it was made for
 */
export function agentSelector(workload: string): Readonly<Record<string, string>> {
  return { [LABEL.revision]: workload, [LABEL.component]: COMPONENT.agentApi };
}

/** Pods of a Deployment: a number (0 keeps it without pods), or left to an autoscaler and not written. */
export type WorkloadReplicas = number | 'autoscaled';

/**
 * The Deployment of a revision, of the revision's name, in its namespace.
 * @param databaseMark of the deployment: pods with another one read a URI of the database that was replaced since
 */
export function buildRevisionDeployment(
  revision: AgentRevision,
  replicas: WorkloadReplicas,
  settings: PlatformSettings,
  databaseMark?: string,
): Deployment {
  const { name } = revision.metadata;
  const wanted = revision.spec.resourceSpec ?? {};
  const role: AgentRole = wantsQueue(revision) ? 'api' : 'all';
  return buildWorkload(revision, settings, { name, role, resources: wanted, replicas, databaseMark });
}

/**
 * The Deployment that takes the runs of a revision which asks for one. Its pods have the labels of the others but for
 * the component, so neither the Service nor the other Deployment takes them for its own.
 */
export function buildQueueDeployment(
  revision: AgentRevision,
  replicas: WorkloadReplicas,
  settings: PlatformSettings,
  databaseMark?: string,
): Deployment {
  const wanted = revision.spec.resourceSpec ?? {};
  const cpu = wanted.queueCpu ?? wanted.cpu;
  const memoryMb = wanted.queueMemoryMb ?? wanted.memoryMb;
  const resources: WantedResources = {
    ...(cpu === undefined ? {} : { cpu }),
    ...(wanted.queueCpuLimit === undefined ? {} : { cpuLimit: wanted.queueCpuLimit }),
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(wanted.queueMemoryLimitMb === undefined ? {} : { memoryLimitMb: wanted.queueMemoryLimitMb }),
  };
  const name = queueName(revision.metadata.name);
  return buildWorkload(revision, settings, { name, role: 'queue', resources, replicas, databaseMark });
}

/** Part of an agent server's work: `AGENTPLANE_ROLE`. */
type AgentRole = 'all' | 'api' | 'queue';

interface Workload {
  readonly name: string;
  readonly role: AgentRole;
  readonly resources: WantedResources;
  readonly replicas: WorkloadReplicas;
  readonly databaseMark: string | undefined;
}

function buildWorkload(revision: AgentRevision, settings: PlatformSettings, workload: Workload): Deployment {
  const { name, role, replicas, databaseMark } = workload;
  const { metadata, spec } = revision;
  const wanted = spec.resourceSpec ?? {};
  const component = role === 'queue' ? COMPONENT.agentQueue : COMPONENT.agentApi;
  const selector = { ...agentSelector(metadata.name), [LABEL.component]: component };
  // the platform's labels come last: a user's must not move a pod to another revision or component
  const labels = { ...userLabels(wanted), ...revisionLabels(revision), ...selector };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: metadata.namespace, labels, ...annotationsPart(wanted) },
    spec: {
      ...(replicas === 'autoscaled' ? {} : { replicas }),
      revisionHistoryLimit: 0,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: selector },
      template: {
        metadata: {
          labels,
          annotations: {
            ...METRICS_ANNOTATIONS,
            ...userAnnotations(wanted),
            ...(databaseMark === undefined ? {} : { [ANNOTATION.database]: databaseMark }),
            ...restartPart(revision),
          },
        },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: agentPodSecurity(settings),
          ...(settings.addresses === 'loopback' ? runtimePlacement(settings) : agentPlacementOf(wanted)),
          terminationGracePeriodSeconds: 30,
          ...(wanted.serviceAccountName ? { serviceAccountName: wanted.serviceAccountName } : {}),
          ...pullSecretsPart(revision, settings),
          ...(wanted.volumes ? { volumes: wanted.volumes.map((volume) => ({ ...volume })) } : {}),
          ...initContainersPart(revision),
          containers: [
            agentContainer(revision, settings, workload),
            ...(wanted.sidecars ?? []).filter((one) => !isNative(one)).map((one) => besides(one, revision)),
          ],
        },
      },
    },
  };
}

function restartPart({ metadata: { annotations } }: AgentRevision): Readonly<Record<string, string>> {
  const restart = annotations?.[ANNOTATION.restart];
  return restart === undefined ? {} : { [ANNOTATION.restart]: restart };
}

/** Pull secrets that the user names, and for a build that of the registry which the platform pushed to. */
function pullSecretsPart(
  { spec: { source, resourceSpec } }: AgentRevision,
  { buildPullSecret }: PlatformSettings,
): Pick<PodSpec, 'imagePullSecrets'> {
  const { imagePullSecrets } = resourceSpec ?? {};
  if (!isBuiltSource(source) || buildPullSecret === undefined)
    return imagePullSecrets ? { imagePullSecrets } : {};
  const others = (imagePullSecrets ?? []).filter(({ name }) => name !== buildPullSecret);
  return { imagePullSecrets: [...others, { name: buildPullSecret }] };
}

/** Labels of a revision's objects. */
export function revisionLabels(revision: AgentRevision): Readonly<Record<string, string>> {
  return platformLabels('agent', {
    [LABEL.deployment]: revision.spec.deploymentName,
    [LABEL.revision]: revision.metadata.name,
    [LABEL.listener]: revision.spec.listenerName,
  });
}

function agentContainer(
  revision: AgentRevision,
  settings: PlatformSettings,
  { role, resources, databaseMark }: Workload,
): PodContainer {
  const { spec } = revision;
  return {
    name: AGENT_CONTAINER,
    // a revision is run only once it is built, and then its image is known
    image: revision.status?.image ?? '',
    ports: [{ name: 'http', containerPort: AGENT_PORT, protocol: 'TCP' }, METRICS_CONTAINER_PORT],
    env: [
      // the platform's variables come after these: the later of two with one name wins
      ...(spec.secretReferences ?? []).map(({ name, secretName, secretKey }) => ({
        name,
        valueFrom: fromSecret(secretName, secretKey),
      })),
      ...agentEnvironment(revision, settings),
      ...trustedCaPart(revision, databaseMark),
      ...(role === 'all' ? [] : [{ name: 'AGENTPLANE_ROLE', value: role }]),
    ],
    envFrom: [{ secretRef: { name: spec.envSecretName } }],
    resources: podResources(resources),
    readinessProbe: READINESS,
    livenessProbe: LIVENESS,
    securityContext: CONTAINER_SECURITY,
    // the last output of a program is the reason for its end, when it leaves no message of its own
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(spec.resourceSpec?.volumeMounts ? { volumeMounts: spec.resourceSpec.volumeMounts } : {}),
  };
}

/** The platform's variables. They win over the user's, which come by `envFrom`. */
function agentEnvironment(
  revision: AgentRevision,
  settings: PlatformSettings,
): readonly EnvironmentVariable[] {
  const { spec, metadata } = revision;
  return [
    // the process runtime sets its own; images that read PORT get the one that the Service points to
    ...(settings.addresses === 'cluster-dns' ? clusterEnvironment(revision) : []),
    { name: 'LANGSMITH_TRACING', value: 'true' },
    { name: 'LANGSMITH_ENDPOINT', value: settings.apiUrl },
    { name: 'LANGSMITH_API_KEY', valueFrom: fromSecret(spec.platformSecretName, 'LANGSMITH_API_KEY') },
    { name: 'LANGSMITH_PROJECT', value: spec.deploymentWireName },
    { name: 'POSTGRES_URI', valueFrom: fromSecret(spec.databaseSecretName, 'POSTGRES_URI') },
    { name: 'AGENTPLANE_AUTH_URL', value: settings.apiUrl },
    { name: 'AGENTPLANE_TENANT_ID', value: spec.tenantId },
    { name: 'AGENTPLANE_DEPLOYMENT', value: spec.deploymentWireName },
    { name: 'AGENTPLANE_REVISION', value: metadata.name },
    ...idleEnvironment(revision, settings),
    ...agentFolder(revision),
    ...telemetryEnvironment(settings, true),
  ];
}

/**
 * A Secret with certificates has a mark. Pods without one are made as those of 0.2.0 were, so that an upgrade replaces no
 * pod of theirs.
 */
function trustedCaPart(
  { spec }: AgentRevision,
  databaseMark: string | undefined,
): readonly EnvironmentVariable[] {
  if (databaseMark === undefined) return [];
  const secretKeyRef = { name: spec.databaseSecretName, key: CA_KEY, optional: true };
  return [{ name: CA_VARIABLE, valueFrom: { secretKeyRef } }];
}

/** Variables by which a pod knows its listener, which asks if the pod may be stopped, and about its load. */
function idleEnvironment(
  revision: AgentRevision,
  { idleKey }: PlatformSettings,
): readonly EnvironmentVariable[] {
  if ((!maySleep(revision) && !isAnsweringScaled(revision)) || idleKey === undefined) return [];
  return [{ name: 'AGENTPLANE_IDLE_TOKEN_SHA256', value: digestIdleToken(idleToken(revision, idleKey)) }];
}

/** The image of a build is the whole repository. */
function agentFolder({ spec: { git } }: AgentRevision): readonly EnvironmentVariable[] {
  const folder = git?.graphConfigPath.split('/').slice(0, -1).join('/') ?? '';
  return folder === '' ? [] : [{ name: 'AGENTPLANE_AGENT_FOLDER', value: folder.replaceAll('$', '$$$$') }];
}

/**
 * Variable with the address of the Service. On one machine its port is not known yet, and callers name it.
 */
function clusterEnvironment({ spec, metadata }: AgentRevision): readonly EnvironmentVariable[] {
  const service = { metadata: { name: spec.deploymentName, namespace: metadata.namespace ?? 'default' } };
  return [
    { name: 'PORT', value: String(AGENT_PORT) },
    { name: 'AGENTPLANE_SERVICE_URL', value: addressOf(service, 'cluster-dns') ?? '' },
  ];
}

function fromSecret(name: string, key: string): EnvironmentVariable['valueFrom'] {
  return { secretKeyRef: { name, key } };
}

/**
 * Sidecars that name `Always` are Kubernetes' own kind: init containers that keep running, started after the
 * others and before the agent, ended after it. Anywhere else in a pod an API server refuses the restart
 * policy of a container.
 */
function isNative({ restartPolicy }: Container): boolean {
  return restartPolicy === 'Always';
}

function initContainersPart(revision: AgentRevision): { readonly initContainers?: readonly PodContainer[] } {
  const { initContainers = [], sidecars = [] } = revision.spec.resourceSpec ?? {};
  const all = [...initContainers, ...sidecars.filter(isNative)];
  return all.length === 0 ? {} : { initContainers: all.map((one) => besides(one, revision)) };
}

/**
 * A user's container as it is: the interface's shape is a pod's own, so the API server judges its free-form parts. The name
 * of an image of the platform's own store means what it means for the agent, pinned with the revision; nodes know no other.
 */
function besides(container: Container, { spec, status }: AgentRevision): PodContainer {
  const { env, envFrom, image, ...rest } = container;
  const isOwn = spec.source === 'internal_image' && image === spec.imageUri;
  return {
    ...rest,
    image: isOwn ? (status?.image ?? image) : image,
    ...(env ? { env } : {}),
    ...(envFrom ? { envFrom } : {}),
  };
}
