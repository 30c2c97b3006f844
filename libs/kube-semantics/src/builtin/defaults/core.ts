import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { always, chain, derived, each, fields, type Fill, inside, when } from './fill.js';
import { canonicalQuantities } from './pod.js';

const CLIENT_IP_TIMEOUT_SECONDS = 10_800;
const RBAC_GROUP = 'rbac.authorization.k8s.io';

export const service: Fill = inside(
  'spec',
  fields({ sessionAffinity: 'None', type: 'ClusterIP' }),
  when(
    (spec) => spec['sessionAffinity'] === 'ClientIP',
    always(
      'sessionAffinityConfig',
      always('clientIP', fields({ timeoutSeconds: CLIENT_IP_TIMEOUT_SECONDS })),
    ),
  ),
  each('ports', fields({ protocol: 'TCP' }), targetPort),
  when(
    (spec) => spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer',
    fields({ externalTrafficPolicy: 'Cluster' }),
  ),
  when((spec) => spec['type'] === 'LoadBalancer', fields({ allocateLoadBalancerNodePorts: true })),
  when((spec) => spec['type'] !== 'ExternalName', fields({ internalTrafficPolicy: 'Cluster' })),
);

function targetPort(port: JsonObject): JsonObject {
  const given = port['targetPort'];
  return given === undefined || given === 0 || given === '' ? { ...port, targetPort: port['port'] } : port;
}

/** `stringData` is for writing only: it is folded into `data`. */
export const secret: Fill = chain(
  (object) => {
    const { stringData, ...rest } = object;
    if (!isJsonObject(stringData)) return object;
    const encoded = Object.entries(stringData).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString('base64'),
    ]);
    return { ...rest, data: { ...recordAt(object, 'data'), ...Object.fromEntries(encoded) } };
  },
  fields({ type: 'Opaque' }),
);

export const namespace: Fill = (object) => {
  const name = textAt(object, ['metadata', 'name']);
  if (name === '') return object;
  return inside('metadata', always('labels', fields({ 'kubernetes.io/metadata.name': name })))(object);
};

export function prepareNamespace(object: JsonObject): JsonObject {
  const spec = recordAt(object, 'spec');
  const finalizers = listAt(spec, 'finalizers');
  const kept = finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'];
  return { ...object, spec: { ...spec, finalizers: kept }, status: { phase: 'Active' } };
}

export const node: Fill = inside(
  'status',
  canonicalQuantities('capacity'),
  canonicalQuantities('allocatable'),
  derived('allocatable', (status) => status['capacity']),
);

export const endpoints: Fill = each('subsets', each('ports', fields({ protocol: 'TCP' })));

export const endpointSlice: Fill = each('ports', fields({ protocol: 'TCP' }), (port) =>
  'name' in port ? port : { ...port, name: '' },
);

const subject: Fill = when(
  (object) => object['kind'] === 'User' || object['kind'] === 'Group',
  fields({ apiGroup: RBAC_GROUP }),
);

export const roleBinding: Fill = chain(
  inside('roleRef', fields({ apiGroup: RBAC_GROUP })),
  each('subjects', subject),
);

export const horizontalPodAutoscaler: Fill = inside(
  'spec',
  fields({ minReplicas: 1 }),
  when(
    (spec) => listAt(spec, 'metrics').length === 0,
    (spec) => ({
      ...spec,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
        },
      ],
    }),
  ),
);

const policyPorts = each('ports', fields({ protocol: 'TCP' }));

export const networkPolicy: Fill = inside(
  'spec',
  each('ingress', policyPorts),
  each('egress', policyPorts),
  when(
    (spec) => listAt(spec, 'policyTypes').length === 0,
    (spec) => ({
      ...spec,
      policyTypes: listAt(spec, 'egress').length > 0 ? ['Ingress', 'Egress'] : ['Ingress'],
    }),
  ),
);

export const resourceQuota: Fill = inside('spec', canonicalQuantities('hard'));

/** A container's limit is the largest that it may have, and its request the limit, where nothing else is named. */
export const limitRange: Fill = inside(
  'spec',
  each(
    'limits',
    canonicalQuantities('max'),
    canonicalQuantities('min'),
    canonicalQuantities('default'),
    canonicalQuantities('defaultRequest'),
    when(
      (limit) => limit['type'] === 'Container',
      (limit) => {
        const most = { ...recordAt(limit, 'max'), ...recordAt(limit, 'default') };
        const least = { ...recordAt(limit, 'min'), ...most, ...recordAt(limit, 'defaultRequest') };
        return { ...limit, default: most, defaultRequest: least };
      },
    ),
  ),
);

export const priorityClass: Fill = fields({ preemptionPolicy: 'PreemptLowerPriority' });

export const storageClass: Fill = fields({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });

/** Version negotiated names and the conversion of a CustomResourceDefinition. */
export const customResourceDefinition: Fill = inside(
  'spec',
  (spec) =>
    always(
      'names',
      derived('singular', (names) => textAt(names, ['kind']).toLowerCase() || undefined),
      derived('listKind', (names) =>
        names['kind'] === undefined ? undefined : `${textAt(names, ['kind'])}List`,
      ),
    )(spec),
  always('conversion', fields({ strategy: 'None' })),
);

/** A new CustomResourceDefinition has accepted nothing yet and stores its storage version. */
export function prepareCustomResourceDefinition(object: JsonObject): JsonObject {
  const storage = listAt(object, 'spec', 'versions').filter(
    (version) => isJsonObject(version) && version['storage'] === true,
  );
  const storedVersions = storage.map((version) => textAt(version, ['name']));
  const acceptedNames = { kind: '', plural: '' };
  return { ...object, status: { acceptedNames, conditions: null, storedVersions } };
}
