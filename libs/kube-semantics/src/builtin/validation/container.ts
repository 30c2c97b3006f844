import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt, at as valueAt } from '../../object/reading.js';
import { formatQuantity, parseQuantity } from '../../quantity/quantity.js';
import {
  duplicate,
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../schema/field-error.js';
import {
  configKey,
  dnsLabel,
  dnsSubdomain,
  environmentName,
  portName,
  portNumber,
  qualifiedName,
} from '../../schema/names.js';
import { eachItem, named, nonNegative, oneOf, problems } from './checks.js';

const SOURCES = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];
const FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** The variables of a container. */
function validateEnv(env: unknown, path: string): readonly FieldError[] {
  return eachItem(env, path, (item, at) => [
    ...named(item['name'], `${at}.name`, environmentName),
    ...(isJsonObject(item['valueFrom']) ? validateSource(item, item['valueFrom'], `${at}.valueFrom`) : []),
  ]);
}

function validateSource(variable: JsonObject, source: JsonObject, path: string): readonly FieldError[] {
  const given = SOURCES.filter((name) => isJsonObject(source[name]));
  const errors = [
    ...(isJsonObject(source['fieldRef']) ? validateFieldRef(source['fieldRef'], `${path}.fieldRef`) : []),
    ...['configMapKeyRef', 'secretKeyRef'].flatMap((name) => {
      const reference = source[name];
      return isJsonObject(reference) ? validateKeyRef(reference, `${path}.${name}`) : [];
    }),
  ];
  if (given.length === 0) {
    const text = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';
    errors.push(invalid(path, '', text));
  } else if (textAt(variable, ['value']) !== '') {
    errors.push(invalid(path, '', 'may not be specified when `value` is not empty'));
  } else if (given.length > 1) {
    errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
  }
  return errors;
}

function validateFieldRef(reference: JsonObject, path: string): readonly FieldError[] {
  const field = textAt(reference, ['fieldPath']);
  if (field === '') return [required(`${path}.fieldPath`)];
  const subscript = /^metadata\.(annotations|labels)\['(.*)'\]$/.exec(field);
  if (subscript !== null) return problems(subscript[2], path, qualifiedName(subscript[2] ?? ''));
  if (FIELDS.includes(field)) return [];
  const isKnown = field === 'metadata.annotations' || field === 'metadata.labels';
  if (isKnown) return [notSupported(`${path}.fieldPath`, field, FIELDS)];
  return [
    invalid(`${path}.fieldPath`, field, `error converting fieldPath: field label not supported: ${field}`),
  ];
}

function validateKeyRef(reference: JsonObject, path: string): readonly FieldError[] {
  const name = textAt(reference, ['name']);
  return [
    ...problems(name, `${path}.name`, dnsSubdomain(name)),
    ...named(reference['key'], `${path}.key`, configKey),
  ];
}

/** Whole ConfigMaps and Secrets as variables. */
function validateEnvFrom(envFrom: unknown, path: string): readonly FieldError[] {
  return eachItem(envFrom, path, (item, at) => {
    const prefix = textAt(item, ['prefix']);
    const given = ['configMapRef', 'secretRef'].filter((name) => isJsonObject(item[name]));
    const errors = prefix === '' ? [] : [...problems(prefix, `${at}.prefix`, environmentName(prefix))];
    for (const name of given) {
      const value = valueAt(recordAt(item, name), 'name');
      errors.push(...named(value, `${at}.${name}.name`, dnsSubdomain));
    }
    if (given.length === 0)
      errors.push(invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    if (given.length > 1)
      errors.push(invalid(path, '', 'may not have more than one field specified at a time'));
    return errors;
  });
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'];
const TIMES = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
];
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/** The probes and life cycle hooks of a container. */
function validateProbes(container: JsonObject, path: string): readonly FieldError[] {
  const probes = PROBES.flatMap((name) => {
    const probe = container[name];
    return isJsonObject(probe) ? validateProbe(probe, `${path}.${name}`, name) : [];
  });
  const lifecycle = isJsonObject(container['lifecycle']) ? container['lifecycle'] : {};
  const hooks = ['postStart', 'preStop'].flatMap((name) => {
    const hook = lifecycle[name];
    return isJsonObject(hook) ? validateHandler(hook, `${path}.lifecycle.${name}`) : [];
  });
  return [...hooks, ...probes];
}

function validateProbe(probe: JsonObject, path: string, name: string): readonly FieldError[] {
  const threshold = probe['successThreshold'];
  const errors = [...validateHandler(probe, path), ...nonNegative(probe, path, ...TIMES)];
  if (name !== 'readinessProbe' && threshold !== undefined && threshold !== 1) {
    errors.push(invalid(`${path}.successThreshold`, threshold, 'must be 1'));
  }
  return errors;
}

function validateHandler(handler: JsonObject, path: string): readonly FieldError[] {
  const given = HANDLERS.filter((name) => isJsonObject(handler[name]));
  const [first, ...more] = given;
  if (first === undefined) return [required(path, 'must specify a handler type')];
  const action = handler[first];
  return [
    ...(isJsonObject(action) ? validateAction(first, action, `${path}.${first}`) : []),
    ...more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ];
}

function validateAction(name: string, action: JsonObject, path: string): readonly FieldError[] {
  switch (name) {
    case 'exec':
      return listAt(action, 'command').length > 0 ? [] : [required(`${path}.command`)];
    case 'httpGet':
      return [
        ...(textAt(action, ['path']) === '' ? [required(`${path}.path`)] : []),
        ...validatePort(action['port'], `${path}.port`),
        ...oneOf(action['scheme'], `${path}.scheme`, ['HTTP', 'HTTPS']),
      ];
    case 'tcpSocket':
      return validatePort(action['port'], `${path}.port`);
    default:
      return [];
  }
}

/** A number or the name of one of the container's ports. */
export function validatePort(port: unknown, path: string): readonly FieldError[] {
  if (typeof port === 'string') return problems(port, path, portName(port));
  const number = typeof port === 'number' ? port : 0;
  return problems(number, path, portNumber(number));
}

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

/**
 * Kubernetes has no limits for these; what is larger is no program. A status names each container and its image twice, and
 * has to fit into a request beside the pod.
 */
const MAX_CONTAINERS = 256;
const MAX_IMAGE_LENGTH = 4_096;

/** The containers of a pod; `volumes` are the names that may be mounted, `taken` the names others have. */
export function validateContainers(
  list: unknown,
  path: string,
  volumes: ReadonlySet<string>,
  taken: ReadonlySet<string> = new Set(),
): readonly FieldError[] {
  const seen = new Set(taken);
  if (Array.isArray(list) && list.length > MAX_CONTAINERS)
    return [tooMany(path, list.length, MAX_CONTAINERS)];
  return eachItem(list, path, (item, at) => {
    const name = textAt(item, ['name']);
    const repeated = seen.has(name) && name !== '' ? [duplicate(`${at}.name`, name)] : [];
    seen.add(name);
    return [
      ...named(item['name'], `${at}.name`, dnsLabel),
      ...repeated,
      ...validateContainer(item, at, volumes),
    ];
  });
}

function validateContainer(
  container: JsonObject,
  path: string,
  volumes: ReadonlySet<string>,
): readonly FieldError[] {
  return [
    ...named(container['image'], `${path}.image`),
    ...(textAt(container, ['image']).length > MAX_IMAGE_LENGTH
      ? [tooLong(`${path}.image`, MAX_IMAGE_LENGTH)]
      : []),
    ...validatePorts(container['ports'], `${path}.ports`),
    ...validateEnv(container['env'], `${path}.env`),
    ...validateEnvFrom(container['envFrom'], `${path}.envFrom`),
    ...validateMounts(container['volumeMounts'], `${path}.volumeMounts`, volumes),
    ...oneOf(container['imagePullPolicy'], `${path}.imagePullPolicy`, PULL_POLICIES),
    ...oneOf(container['terminationMessagePolicy'], `${path}.terminationMessagePolicy`, [
      'FallbackToLogsOnError',
      'File',
    ]),
    ...validateResources(recordAt(container, 'resources'), `${path}.resources`),
    ...validateProbes(container, path),
  ];
}

function validatePorts(list: unknown, path: string): readonly FieldError[] {
  const names = new Set<string>();
  return eachItem(list, path, (item, at) => {
    const name = textAt(item, ['name']);
    const number = item['containerPort'];
    const host = item['hostPort'];
    const errors = name === '' ? [] : [...problems(name, `${at}.name`, portName(name))];
    if (errors.length === 0 && names.has(name)) errors.push(duplicate(`${at}.name`, name));
    if (name !== '') names.add(name);
    if (typeof number !== 'number' || number === 0) errors.push(required(`${at}.containerPort`));
    else errors.push(...problems(number, `${at}.containerPort`, portNumber(number)));
    if (typeof host === 'number' && host !== 0)
      errors.push(...problems(host, `${at}.hostPort`, portNumber(host)));
    return [...errors, ...oneOf(item['protocol'], `${at}.protocol`, PROTOCOLS)];
  });
}

function validateMounts(list: unknown, path: string, volumes: ReadonlySet<string>): readonly FieldError[] {
  const places = new Set<string>();
  return eachItem(list, path, (item, at) => {
    const name = textAt(item, ['name']);
    const place = textAt(item, ['mountPath']);
    const errors = name === '' ? [required(`${at}.name`)] : [];
    if (!volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    if (place === '') errors.push(required(`${at}.mountPath`));
    if (places.has(place)) errors.push(invalid(`${at}.mountPath`, place, 'must be unique'));
    places.add(place);
    return errors;
  });
}

function validateResources(resources: JsonObject, path: string): readonly FieldError[] {
  const limits = recordAt(resources, 'limits');
  const requests = recordAt(resources, 'requests');
  const bounds = errorsOfEach(Object.entries(requests), ([name, value]) => {
    const request = parseQuantity(String(value));
    const limit = parseQuantity(String(limits[name] ?? ''));
    if (request === undefined || limit === undefined || request.nano <= limit.nano) return [];
    const text = `must be less than or equal to ${name} limit of ${formatQuantity(limit)}`;
    return [invalid(`${path}.requests`, value, text)];
  });
  return [
    ...validateQuantities(limits, `${path}.limits`),
    ...validateQuantities(requests, `${path}.requests`),
    ...bounds,
  ];
}

/** Quantities of zero or more, of resources that containers have unless `names` allows others. */
export function validateQuantities(
  list: JsonObject,
  path: string,
  names = /\/|^(cpu|memory|ephemeral-storage|hugepages-.*)$/,
): readonly FieldError[] {
  return errorsOfEach(Object.entries(list), ([name, value]) => {
    const quantity = parseQuantity(String(value));
    const at = `${path}[${name}]`;
    if (quantity === undefined) {
      const text =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
      return [invalid(at, value, text)];
    }
    if (quantity.nano < 0n) return [invalid(at, value, 'must be greater than or equal to 0')];
    return names.test(name) ? [] : [forbidden(at, `must be a standard resource for containers`)];
  });
}
