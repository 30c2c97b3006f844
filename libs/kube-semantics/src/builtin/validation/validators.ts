import { jsonEquals, type JsonObject } from '#lib/json';
import { validateCustomResourceDefinition } from '../../custom-resource/custom-resource-definition.js';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
  tooLong,
} from '../../schema/field-error.js';
import { configKey, dnsLabel, portNumber, qualifiedName } from '../../schema/names.js';
import { validateLabels } from '../../schema/object-meta.js';
import {
  validateClusterRole,
  validateClusterRoleBinding,
  validateRole,
  validateRoleBinding,
} from './access.js';
import { eachItem, immutable, named, oneOf, problems, type Validator } from './checks.js';
import {
  validateDisruptionBudget,
  validateLimitRange,
  validateNetworkPolicy,
  validatePriorityClass,
  validateResourceQuota,
  validateStorageClass,
} from './cluster-policies.js';
import { validatePort } from './container.js';
import { validateSelectorSize } from './label-selector.js';
import {
  validateDeployment,
  validateJob,
  validatePod,
  validatePodTemplate,
  validateReplicaSet,
  validateStatefulSet,
} from './workloads.js';

const validateLease: Validator = (lease) => {
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = recordAt(lease, 'spec');
  const errors: FieldError[] = [];
  if (typeof duration === 'number' && duration <= 0) {
    errors.push(invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0'));
  }
  if (typeof transitions === 'number' && transitions < 0) {
    errors.push(invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0'));
  }
  return errors;
};

const EVENT_TYPES = ['Normal', 'Warning'];
const EVENT_FIELDS = ['reportingController', 'reportingInstance', 'action', 'reason'];

/**
 * An event must be in the namespace of its subject; one of events.k8s.io names its reporter, its reason, and
 * its time.
 */
const validateEvent: Validator = (event, old) => {
  const namespace = textAt(event, ['metadata', 'namespace']);
  const isNew = textAt(event, ['apiVersion']).startsWith('events.k8s.io/');
  const about = textAt(event, [isNew ? 'regarding' : 'involvedObject', 'namespace']);
  const hasTime = Boolean(event['eventTime']);
  const isClusterWide = about === '' && (namespace === 'default' || namespace === 'kube-system');
  const errors: FieldError[] =
    isClusterWide || about === namespace || (hasTime && about !== '')
      ? []
      : [invalid('involvedObject.namespace', about, 'does not match event.namespace')];
  if (!isNew || old !== undefined) return errors;
  const needed = hasTime ? EVENT_FIELDS : ['eventTime'];
  errors.push(...needed.filter((field) => !event[field]).map((field) => required(field)));
  const reporter = textAt(event, ['reportingController']);
  if (hasTime) errors.push(...problems(reporter, 'reportingController', qualifiedName(reporter)));
  const type = textAt(event, ['type']);
  return EVENT_TYPES.includes(type) ? errors : [...errors, invalid('type', '', `has invalid value: ${type}`)];
};

const validateEndpointSlice: Validator = (slice, old) => [
  ...(textAt(slice, ['addressType']) === ''
    ? [required('addressType')]
    : oneOf(slice['addressType'], 'addressType', ['FQDN', 'IPv4', 'IPv6'])),
  ...(old === undefined ? [] : immutable(slice['addressType'], old['addressType'], 'addressType')),
];

const validateHorizontalPodAutoscaler: Validator = (autoscaler) => {
  const spec = recordAt(autoscaler, 'spec');
  const { minReplicas: least, maxReplicas: most } = spec;
  const errors: FieldError[] = [];
  if (typeof least === 'number' && least < 1) {
    errors.push(invalid('spec.minReplicas', least, 'must be greater than or equal to 1'));
  }
  if (typeof most !== 'number' || most < 1) {
    errors.push(invalid('spec.maxReplicas', most ?? 0, 'must be greater than 0'));
  } else if (typeof least === 'number' && most < least) {
    errors.push(invalid('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`'));
  }
  const target = recordAt(spec, 'scaleTargetRef');
  const version = textAt(target, ['apiVersion']);
  if (!version.includes('/') && target['kind'] !== 'ReplicationController') {
    errors.push(invalid('spec.scaleTargetRef.apiVersion', version, 'apiVersion must specify API group'));
  }
  return [
    ...errors,
    ...named(target['kind'], 'spec.scaleTargetRef.kind'),
    ...named(target['name'], 'spec.scaleTargetRef.name'),
  ];
};

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

const validateService: Validator = (service, old) => {
  const spec = recordAt(service, 'spec');
  const type = textAt(spec, ['type']);
  const ports = listAt(spec, 'ports');
  const isHeadless = spec['clusterIP'] === 'None';
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless && type !== 'ExternalName') errors.push(required('spec.ports'));
  errors.push(...validatePorts(spec['ports'], ports.length > 1));
  errors.push(...validateSelectorSize(recordAt(spec, 'selector'), 'spec.selector'));
  errors.push(...validateLabels(recordAt(spec, 'selector'), 'spec.selector'));
  errors.push(...oneOf(spec['sessionAffinity'], 'spec.sessionAffinity', ['ClientIP', 'None']));
  errors.push(...oneOf(spec['type'], 'spec.type', TYPES));
  if (type === 'ExternalName' && textAt(spec, ['externalName']) === '')
    errors.push(required('spec.externalName'));
  return old === undefined ? errors : [...errors, ...addressErrors(spec, recordAt(old, 'spec'))];
};

function validatePorts(list: unknown, needsNames: boolean): readonly FieldError[] {
  const names = new Set<string>();
  const places = new Set<string>();
  return eachItem(list, 'spec.ports', (item, at) => {
    const name = textAt(item, ['name']);
    const number = typeof item['port'] === 'number' ? item['port'] : 0;
    const errors = [
      ...portNameErrors(name, at, needsNames, names),
      ...problems(number, `${at}.port`, portNumber(number)),
    ];
    errors.push(...oneOf(item['protocol'], `${at}.protocol`, ['SCTP', 'TCP', 'UDP']));
    if (item['targetPort'] !== undefined)
      errors.push(...validatePort(item['targetPort'], `${at}.targetPort`));
    const protocol = textAt(item, ['protocol']);
    const place = `${protocol}/${number}`;
    if (places.has(place)) errors.push(duplicate(at, { protocol, port: number }));
    places.add(place);
    return errors;
  });
}

function portNameErrors(
  name: string,
  path: string,
  isNeeded: boolean,
  seen: Set<string>,
): readonly FieldError[] {
  if (name === '') return isNeeded ? [required(`${path}.name`)] : [];
  const errors = problems(name, `${path}.name`, dnsLabel(name));
  const again = seen.has(name) ? [duplicate(`${path}.name`, name)] : [];
  seen.add(name);
  return [...errors, ...again];
}

/** An address once given stays, unless the Service becomes an alias. */
function addressErrors(spec: JsonObject, old: JsonObject): readonly FieldError[] {
  const before = textAt(old, ['clusterIP']);
  const next = textAt(spec, ['clusterIP']);
  if (before === '' || before === next || spec['type'] === 'ExternalName' || old['type'] === 'ExternalName')
    return [];
  if (next === '') return [];
  return [invalid('spec.clusterIPs[0]', [next], 'may not change once set')];
}

const MAX_BYTES = 1024 * 1024;
const FIXED = 'field is immutable when `immutable` is set';
/** Keys that a Secret of a type must hold; of the last ones one is enough. */
const NEEDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/ssh-auth', ['ssh-privatekey']],
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
]);

const validateSecret: Validator = (secret, old) => {
  const data = recordAt(secret, 'data');
  const size = Object.values(data).reduce(
    (sum: number, value) => sum + Buffer.byteLength(String(value), 'base64'),
    0,
  );
  const errors = [
    ...keyErrors(data, 'data'),
    ...base64Errors(data, 'data'),
    ...(size > MAX_BYTES ? [tooLong('data', MAX_BYTES)] : []),
    ...typeErrors(secret, data),
  ];
  if (old === undefined) return errors;
  return [...immutable(secret['type'], old['type'], 'type'), ...frozen(secret, old, ['data']), ...errors];
};

const validateConfigMap: Validator = (map, old) => {
  const data = recordAt(map, 'data');
  const binary = recordAt(map, 'binaryData');
  const both = errorsOfEach(Object.keys(data), (key) =>
    Object.hasOwn(binary, key)
      ? [invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')]
      : [],
  );
  const size = [...Object.values(data), ...Object.values(binary)].reduce(
    (sum: number, value) => sum + Buffer.byteLength(String(value)),
    0,
  );
  const errors = [
    ...keyErrors(data, 'data'),
    ...both,
    ...keyErrors(binary, 'binaryData'),
    ...base64Errors(binary, 'binaryData'),
    ...(size > MAX_BYTES ? [tooLong('', MAX_BYTES)] : []),
  ];
  return old === undefined ? errors : [...frozen(map, old, ['data', 'binaryData']), ...errors];
};

function keyErrors(data: JsonObject, path: string): readonly FieldError[] {
  return errorsOfEach(Object.keys(data), (key) => problems(key, `${path}[${key}]`, configKey(key)));
}

function base64Errors(data: JsonObject, path: string): readonly FieldError[] {
  return errorsOfEach(Object.entries(data), ([key, value]) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(String(value))
      ? []
      : [invalid(`${path}[${key}]`, '<value omitted>', 'illegal base64 data')],
  );
}

function typeErrors(secret: JsonObject, data: JsonObject): readonly FieldError[] {
  const type = textAt(secret, ['type']);
  if (type === 'kubernetes.io/basic-auth') {
    const keys = ['username', 'password'];
    return keys.some((key) => key in data) ? [] : keys.map((key) => required(`data[${key}]`));
  }
  if (type === 'kubernetes.io/service-account-token') {
    const annotation = 'kubernetes.io/service-account.name';
    const isNamed = textAt(secret, ['metadata', 'annotations', annotation]) !== '';
    return isNamed ? [] : [required(`metadata.annotations[${annotation}]`)];
  }
  return (NEEDS.get(type) ?? []).filter((key) => !(key in data)).map((key) => required(`data[${key}]`));
}

function frozen(object: JsonObject, old: JsonObject, fields: readonly string[]): readonly FieldError[] {
  if (old['immutable'] !== true) return [];
  const released = object['immutable'] === true ? [] : [forbidden('immutable', FIXED)];
  const changed = fields.filter((field) => !jsonEquals(object[field] ?? {}, old[field] ?? {}));
  return [...released, ...changed.map((field) => forbidden(field, FIXED))];
}

/** The rules of the built-in kinds; kinds without any are not in it. */
export const validators: Readonly<Record<string, Validator>> = {
  Pod: validatePod,
  Service: validateService,
  Secret: validateSecret,
  ConfigMap: validateConfigMap,
  Event: validateEvent,
  Deployment: validateDeployment,
  ReplicaSet: validateReplicaSet,
  StatefulSet: validateStatefulSet,
  Job: validateJob,
  Lease: validateLease,
  Role: validateRole,
  ClusterRole: validateClusterRole,
  RoleBinding: validateRoleBinding,
  ClusterRoleBinding: validateClusterRoleBinding,
  HorizontalPodAutoscaler: validateHorizontalPodAutoscaler,
  EndpointSlice: validateEndpointSlice,
  PodTemplate: validatePodTemplate,
  PodDisruptionBudget: validateDisruptionBudget,
  NetworkPolicy: validateNetworkPolicy,
  ResourceQuota: validateResourceQuota,
  LimitRange: validateLimitRange,
  PriorityClass: validatePriorityClass,
  StorageClass: validateStorageClass,
  CustomResourceDefinition: validateCustomResourceDefinition,
};
