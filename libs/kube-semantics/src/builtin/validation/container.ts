import { errorsOfEach } from '../../schema/errors-of-each.js';
import type { JsonObject } from '#lib/json';
import { recordAt, textAt } from '../../object/reading.js';
import { formatQuantity, parseQuantity } from '../../quantity/quantity.js';
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  required,
  tooLong,
  tooMany,
} from '../../schema/field-error.js';
import { dnsLabel, portName, portNumber } from '../../schema/names.js';
import { eachItem, named, oneOf, problems } from './checks.js';
import { validateEnv, validateEnvFrom } from './container-env.js';
import { validateProbes } from './container-probes.js';

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
