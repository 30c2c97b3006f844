import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { always, chain, derived, each, fields, type Fill, inside, nonZeroFields, when } from './fill.js';
import { canonicalQuantities } from './resources.js';

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
