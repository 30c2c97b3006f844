import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { formatQuantity, parseQuantity } from '../../quantity/quantity.js';
import { always, chain, derived, each, fields, type Fill, inside, nonZeroFields, when } from './fill.js';

/** Writes the quantities of a resource list the way Kubernetes does: as text, `1000m` as `1`. */
export function canonicalQuantities(name: string): Fill {
  return (object) => {
    const list = object[name];
    if (!isJsonObject(list)) return object;
    const entries = Object.entries(list).map(([resource, value]) => [resource, canonical(value)] as const);
    if (entries.every(([resource, value]) => list[resource] === value)) return object;
    return { ...object, [name]: Object.fromEntries(entries) };
  };
}

/** One quantity in canonical form; a malformed one is left for validation to refuse. */
function canonical(value: unknown): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const quantity = parseQuantity(String(value));
  return quantity === undefined ? value : formatQuantity(quantity);
}

const FILE_MODE = 420;
const LOST_NODE_TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
const VOLUME_NAMES: ReadonlySet<string> = new Set(['name']);

const httpGet = inside('httpGet', fields({ path: '/', scheme: 'HTTP' }));
const handler = chain(
  httpGet,
  inside('grpc', (object) => ('service' in object ? object : { ...object, service: '' })),
);
const probe = chain(
  nonZeroFields({ timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }),
  handler,
);
const fieldRef = inside('fieldRef', fields({ apiVersion: 'v1' }));
const resourceFieldRef = inside('resourceFieldRef', fields({ divisor: '0' }));

const container = chain(
  each('ports', fields({ protocol: 'TCP' })),
  each('env', inside('valueFrom', fieldRef, resourceFieldRef)),
  inside('livenessProbe', probe),
  inside('readinessProbe', probe),
  inside('startupProbe', probe),
  inside('lifecycle', inside('postStart', handler), inside('preStop', handler)),
  derived('imagePullPolicy', (object) => pullPolicy(textAt(object, ['image']))),
  fields({ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' }),
  always('resources', canonicalQuantities('limits'), canonicalQuantities('requests')),
);

const items = each('items', fieldRef, resourceFieldRef);
const volume = chain(
  when(hasNoSource, fields({ emptyDir: {} })),
  inside('secret', fields({ defaultMode: FILE_MODE })),
  inside('configMap', fields({ defaultMode: FILE_MODE })),
  inside('downwardAPI', fields({ defaultMode: FILE_MODE }), items),
  inside(
    'projected',
    fields({ defaultMode: FILE_MODE }),
    each(
      'sources',
      inside('serviceAccountToken', fields({ expirationSeconds: 3600 })),
      inside('downwardAPI', items),
    ),
  ),
  inside('hostPath', (object) => ('type' in object ? object : { ...object, type: '' })),
);

/** Defaults of every pod template. */
const podSpec: Fill = chain(
  each('containers', container),
  each('initContainers', container),
  each('volumes', volume),
  fields({
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  }),
  serviceAccountAlias,
);

/** The template in `spec.template` of a workload. */
export const podTemplate: Fill = inside('template', always('spec', podSpec));

/** A pod itself. */
export const pod: Fill = inside(
  'spec',
  podSpec,
  each('containers', requestsFromLimits),
  each('initContainers', requestsFromLimits),
  fields({ enableServiceLinks: true }),
  when((spec) => spec['hostNetwork'] === true, each('containers', each('ports', hostPort))),
);

/** Defaults of a new pod when it is stored; admission checks that its service account exists. */
export function preparePod(object: JsonObject): JsonObject {
  const spec = chain(
    fields({ serviceAccountName: 'default' }),
    serviceAccountAlias,
    fields({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' }),
    tolerateLostNodes,
  );
  return { ...inside('spec', spec)(object), status: { phase: 'Pending', qosClass: qosClass(object) } };
}

/** `Always` for images without a fixed version. */
function pullPolicy(image: string): string {
  const name = image.slice(image.lastIndexOf('/') + 1);
  if (name.includes('@')) return name.split('@')[0]?.endsWith(':latest') === true ? 'Always' : 'IfNotPresent';
  return !name.includes(':') || name.endsWith(':latest') ? 'Always' : 'IfNotPresent';
}

function hasNoSource(volumeObject: JsonObject): boolean {
  return Object.entries(volumeObject).every(([name, value]) => VOLUME_NAMES.has(name) || value === null);
}

/** The older name of `serviceAccountName` is always shown beside it. */
function serviceAccountAlias(spec: JsonObject): JsonObject {
  const name = spec['serviceAccountName'] ?? spec['serviceAccount'];
  if (typeof name !== 'string' || name === '') return spec;
  if (spec['serviceAccountName'] === name && spec['serviceAccount'] === name) return spec;
  return { ...spec, serviceAccountName: name, serviceAccount: name };
}

/** A pod stays bound to a lost node for five minutes unless it says otherwise. */
function tolerateLostNodes(spec: JsonObject): JsonObject {
  const given = listAt(spec, 'tolerations');
  const missing = LOST_NODE_TAINTS.filter((key) => !given.some((toleration) => covers(toleration, key)));
  const added = missing.map((key) => ({
    key,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  }));
  return added.length === 0 ? spec : { ...spec, tolerations: [...given, ...added] };
}

function covers(toleration: unknown, key: string): boolean {
  const named = textAt(toleration, ['key']);
  const effect = textAt(toleration, ['effect']);
  return (named === key || named === '') && (effect === 'NoExecute' || effect === '');
}

function requestsFromLimits(object: JsonObject): JsonObject {
  const resources = recordAt(object, 'resources');
  const limits = resources['limits'];
  if (!isJsonObject(limits)) return object;
  const requests = { ...limits, ...recordAt(resources, 'requests') };
  return { ...object, resources: { ...resources, requests } };
}

function hostPort(port: JsonObject): JsonObject {
  const given = port['hostPort'];
  return given === undefined || given === 0 ? { ...port, hostPort: port['containerPort'] } : port;
}

function qosClass(object: JsonObject): string {
  const spec = recordAt(object, 'spec');
  const containers = [spec['containers'], spec['initContainers']].flat().filter(isJsonObject);
  const sides = containers.map((item) => ({
    limits: recordAt(item, 'resources', 'limits'),
    requests: recordAt(item, 'resources', 'requests'),
  }));
  if (sides.every(({ limits, requests }) => count(limits) + count(requests) === 0)) return 'BestEffort';
  const isGuaranteed = sides.every(({ limits, requests }) =>
    ['cpu', 'memory'].every(
      (name) => limits[name] !== undefined && (requests[name] ?? limits[name]) === limits[name],
    ),
  );
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

function count(resources: JsonObject): number {
  return ['cpu', 'memory'].filter((name) => resources[name] !== undefined).length;
}

const MAX_INT32 = 2_147_483_647;

const rollingUpdate = when(
  (strategy) => strategy['type'] === 'RollingUpdate',
  always('rollingUpdate', fields({ maxSurge: '25%', maxUnavailable: '25%' })),
);

export const deployment: Fill = inside(
  'spec',
  podTemplate,
  fields({ replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }),
  always('strategy', fields({ type: 'RollingUpdate' }), rollingUpdate),
);

export const replicaSet: Fill = inside('spec', podTemplate, fields({ replicas: 1 }));

export const statefulSet: Fill = inside(
  'spec',
  podTemplate,
  fields({ replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: 'OrderedReady' }),
  always(
    'updateStrategy',
    when((strategy) => (strategy['type'] ?? '') === '', fields({ type: 'RollingUpdate', rollingUpdate: {} })),
    when(
      (strategy) => strategy['type'] === 'RollingUpdate',
      inside('rollingUpdate', fields({ partition: 0 })),
    ),
  ),
  always('persistentVolumeClaimRetentionPolicy', fields({ whenDeleted: 'Retain', whenScaled: 'Retain' })),
);

export const job: Fill = chain(
  inside(
    'spec',
    podTemplate,
    when(
      (spec) => spec['completions'] === undefined && spec['parallelism'] === undefined,
      fields({ completions: 1 }),
    ),
    fields({ parallelism: 1, completionMode: 'NonIndexed', suspend: false, manualSelector: false }),
    derived('backoffLimit', (spec) => (spec['backoffLimitPerIndex'] === undefined ? 6 : MAX_INT32)),
    derived('podReplacementPolicy', (spec) =>
      spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
    ),
  ),
  labelsOfTemplate,
);

function labelsOfTemplate(object: JsonObject): JsonObject {
  const metadata = recordAt(object, 'metadata');
  const labels = recordAt(object, 'spec', 'template', 'metadata', 'labels');
  if (Object.keys(recordAt(metadata, 'labels')).length > 0 || Object.keys(labels).length === 0) return object;
  return { ...object, metadata: { ...metadata, labels } };
}

/** A new Job gets its selector and the labels of its pods from its uid, unless it says `manualSelector`. */
export function prepareJob(object: JsonObject): JsonObject {
  const spec = recordAt(object, 'spec');
  if (spec['manualSelector'] === true) return object;
  const uid = textAt(object, ['metadata', 'uid']);
  const name = textAt(object, ['metadata', 'name']);
  const template = recordAt(spec, 'template');
  const metadata = recordAt(template, 'metadata');
  const given = recordAt(metadata, 'labels');
  const uidLabel = 'batch.kubernetes.io/controller-uid';
  const labels = {
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
    [uidLabel]: uid,
    ...given,
  };
  const selector = isJsonObject(spec['selector']) ? spec['selector'] : {};
  const matchLabels = { ...recordAt(selector, 'matchLabels'), [uidLabel]: labels[uidLabel] };
  return {
    ...object,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  };
}
