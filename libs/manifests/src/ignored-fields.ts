import {
  type AgentDeploymentSpec,
  PLATFORM_PREFIX,
  type ResourceSpec,
  type SourceConfig,
} from '#lib/resources';
import { DATABASE_SERVER_FIELDS } from './database-server.js';
import { isBuiltSource } from './deployment-source.js';
import { isPlacementField } from './pod-placement.js';
import { maySleep, queueRange, wantedReplicas } from './revision-workload.js';
import { isPlatformName } from './object-labels.js';

/** A field of `sourceConfig` or of its `resourceSpec` that has a value and has no effect. */
export interface IgnoredField {
  readonly field: keyof SourceConfig | keyof ResourceSpec;
  /** A sentence without its subject and full stop. */
  readonly because: string;
}

const NO_CACHE = 'a deployment has no cache of its own';
const NO_SUCH_WORKLOAD = 'the platform has no such workload';

/** Database of a deployment: a Postgres server of its own, or the reason why it uses the shared one. */
export type DatabaseChoice = 'own' | 'shared' | 'began-shared' | 'other-cluster';

const NO_SERVER: Readonly<Record<Exclude<DatabaseChoice, 'own'>, string>> = {
  shared: 'the database lies on a Postgres server that the platform shares or was given',
  'began-shared':
    'the database lies on the shared Postgres server since the deployment was created, and is not moved; ask for one of its own in a new deployment',
  'other-cluster':
    'the database lies on the shared Postgres server, since the pods run in another cluster and could not reach one in this cluster',
};

/** Surroundings of a deployment, as far as fields depend on them. */
export interface FieldSurroundings {
  readonly databases: DatabaseChoice;
  /** True when its pods are processes of one machine. */
  readonly runsProcesses: boolean;
}

const ONE_NODE = 'agents of one machine are processes of its one node';
const NO_PULL = 'agents of one machine are processes, and no image is pulled';

const NEVER: Readonly<Partial<Record<keyof ResourceSpec, string>>> = {
  orchestratorCpu: NO_SUCH_WORKLOAD,
  orchestratorCpuLimit: NO_SUCH_WORKLOAD,
  orchestratorMemoryMb: NO_SUCH_WORKLOAD,
  orchestratorMemoryLimitMb: NO_SUCH_WORKLOAD,
  orchestratorMinScale: NO_SUCH_WORKLOAD,
  orchestratorMaxScale: NO_SUCH_WORKLOAD,
  executorCpu: NO_SUCH_WORKLOAD,
  executorCpuLimit: NO_SUCH_WORKLOAD,
  executorMemoryMb: NO_SUCH_WORKLOAD,
  executorMemoryLimitMb: NO_SUCH_WORKLOAD,
  cacheCpu: NO_CACHE,
  cacheCpuLimit: NO_CACHE,
  cacheMemoryMb: NO_CACHE,
  cacheMemoryLimitMb: NO_CACHE,
};

/**
 * Every field that a deployment sets and that has no effect, fields of the resource spec by their names. All other fields
 * change what is built: a test compares them with the manifests.
 */
export function ignoredFields(
  { source, sourceConfig }: Pick<AgentDeploymentSpec, 'source' | 'sourceConfig'>,
  surroundings: FieldSurroundings,
): readonly IgnoredField[] {
  const { installCommand, buildCommand, deploymentType, resourceSpec = {} } = sourceConfig;
  return [
    ...Object.keys(resourceSpec)
      .sort()
      .flatMap((name) => judged(name as keyof ResourceSpec, resourceSpec, surroundings)),
    ...(deploymentType === undefined || source === 'git_host' ? [] : [NO_SIZE]),
    ...(installCommand === undefined || isBuiltSource(source) ? [] : [ofSource('installCommand')]),
    ...(buildCommand === undefined || isBuiltSource(source) ? [] : [ofSource('buildCommand')]),
  ];
}

/**
 * The fields as a sentence, each reason once.
 * @param nameOf name of a field for readers: that in the resource, or on the wire
 */
export function ignoredText(
  fields: readonly IgnoredField[],
  nameOf: (field: string) => string = (field) => field,
): string {
  const reasons = new Map<string, string[]>();
  for (const { field, because } of fields)
    reasons.set(because, [...(reasons.get(because) ?? []), nameOf(field)]);
  return [...reasons]
    .map(
      ([because, names]) => `${names.join(', ')} ${names.length > 1 ? 'have' : 'has'} no effect: ${because}`,
    )
    .join('; ');
}

const NO_SIZE: IgnoredField = {
  field: 'deploymentType',
  because: 'sizes are for deployments from git; others have a resource spec',
};

function ofSource(field: 'installCommand' | 'buildCommand'): IgnoredField {
  return { field, because: 'an image is installed and built already' };
}

const SERVER_FIELDS: ReadonlySet<string> = new Set(DATABASE_SERVER_FIELDS);

function judged(
  field: keyof ResourceSpec,
  spec: ResourceSpec,
  { databases, runsProcesses }: FieldSurroundings,
): readonly IgnoredField[] {
  if (spec[field] === undefined) return [];
  const noServer = databases === 'own' || !SERVER_FIELDS.has(field) ? undefined : NO_SERVER[databases];
  const noPull = runsProcesses && field === 'imagePullSecrets' ? NO_PULL : undefined;
  const oneNode = runsProcesses && isPlacementField(field) ? ONE_NODE : undefined;
  const because = noServer ?? noPull ?? oneNode ?? NEVER[field] ?? SOMETIMES[field]?.(spec);
  return because === undefined ? [] : [{ field, because }];
}

const ONE_POD = '0 is taken as 1: the queue sleeps with its deployment, which minScale 0 allows';
const QUEUE_STAYS = '0 is taken as 1, since the queue has pods at all times (queueMinScale)';
const NOT_OURS = `those that begin with ${PLATFORM_PREFIX} are the platform's and are left out`;
const FEWER_THAN_FEWEST = 'the fewest pods (minScale) are more';

type Judge = (spec: ResourceSpec) => string | undefined;

const ofZero =
  (field: 'queueMinScale' | 'queueMaxScale'): Judge =>
  (spec) =>
    spec[field] === 0 && !sleeps(spec) ? ONE_POD : undefined;
const sleeps = (spec: ResourceSpec): boolean => maySleep({ spec: { resourceSpec: spec } });
const ofNames =
  (field: 'labels' | 'annotations'): Judge =>
  (spec) =>
    Object.keys(spec[field] ?? {}).some(isPlatformName) ? NOT_OURS : undefined;

/** Fields that drive something with some values, or beside some others. */
const SOMETIMES: Readonly<Partial<Record<keyof ResourceSpec, Judge>>> = {
  minScale: (spec) => (spec.minScale === 0 && !sleeps(spec) ? QUEUE_STAYS : undefined),
  queueMinScale: ofZero('queueMinScale'),
  queueMaxScale: ofZero('queueMaxScale'),
  maxScale: (spec) => {
    const wanted = { spec: { resourceSpec: spec } };
    const bindsQueue = queueRange(wanted) !== undefined && spec.queueMaxScale === undefined;
    return bindsQueue || (spec.maxScale ?? 0) >= wantedReplicas(wanted) ? undefined : FEWER_THAN_FEWEST;
  },
  labels: ofNames('labels'),
  annotations: ofNames('annotations'),
};
