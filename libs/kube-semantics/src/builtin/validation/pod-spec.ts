import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { duplicate, type FieldError, forbidden, invalid, required } from '../../schema/field-error.js';
import { dnsLabel, dnsSubdomain } from '../../schema/names.js';
import { validateLabels } from '../../schema/object-meta.js';
import { eachItem, named, nonNegative, oneOf, problems } from './checks.js';
import { validateContainers } from './container.js';

const RESTART_POLICIES = ['Always', 'OnFailure', 'Never'];
const DNS_POLICIES = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
const MAX_INT32 = 2_147_483_647;

/** The specification of a pod or a template. */
export function validatePodSpec(spec: JsonObject, path: string): readonly FieldError[] {
  const volumes = new Set(listAt(spec, 'volumes').map((volume) => textAt(volume, ['name'])));
  const containers = new Set(listAt(spec, 'containers').map((container) => textAt(container, ['name'])));
  const account = textAt(spec, ['serviceAccountName']);
  return [
    ...validateVolumes(spec['volumes'], `${path}.volumes`),
    ...(containers.size === 0 ? [required(`${path}.containers`)] : []),
    ...validateContainers(spec['containers'], `${path}.containers`, volumes),
    ...validateContainers(spec['initContainers'], `${path}.initContainers`, volumes, containers),
    ...oneOf(spec['restartPolicy'], `${path}.restartPolicy`, RESTART_POLICIES),
    ...oneOf(spec['dnsPolicy'], `${path}.dnsPolicy`, DNS_POLICIES),
    ...validateLabels(recordAt(spec, 'nodeSelector'), `${path}.nodeSelector`),
    ...(account === '' ? [] : problems(account, `${path}.serviceAccountName`, dnsSubdomain(account))),
    ...validateDeadline(spec['activeDeadlineSeconds'], `${path}.activeDeadlineSeconds`),
    ...nonNegative(spec, path, 'terminationGracePeriodSeconds'),
  ];
}

function validateDeadline(value: unknown, path: string): readonly FieldError[] {
  if (typeof value !== 'number' || (value >= 1 && value <= MAX_INT32)) return [];
  return [invalid(path, value, `must be between 1 and ${MAX_INT32}, inclusive`)];
}

function validateVolumes(list: unknown, path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return eachItem(list, path, (item, at) => {
    const name = textAt(item, ['name']);
    const errors = [...validateVolumeSource(item, at), ...named(name, `${at}.name`, dnsLabel)];
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
    return errors;
  });
}

function validateVolumeSource(volume: JsonObject, path: string): readonly FieldError[] {
  const sources = Object.keys(volume).filter((name) => isJsonObject(volume[name]));
  const [first, ...more] = sources;
  if (first === undefined) return [required(path, 'must specify a volume type')];
  const many = more.map((name) => forbidden(`${path}.${name}`, 'may not specify more than 1 volume type'));
  const source = recordAt(volume, first);
  const needs = {
    secret: 'secretName',
    configMap: 'name',
    hostPath: 'path',
    persistentVolumeClaim: 'claimName',
  };
  const need = Object.entries(needs).find(([name]) => name === first)?.[1];
  const missing = need === undefined ? [] : named(source[need], `${path}.${first}.${need}`);
  return [...missing, ...many];
}

/** Few fields of an existing pod may change. */
export function validatePodSpecUpdate(
  spec: JsonObject,
  old: JsonObject,
  path: string,
): readonly FieldError[] {
  if (jsonEquals(comparable(spec), comparable(old))) return [];
  const fields = [
    '`spec.containers[*].image`',
    '`spec.initContainers[*].image`',
    '`spec.activeDeadlineSeconds`',
    '`spec.tolerations` (only additions to existing tolerations)',
    '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
  ];
  return [forbidden(path, `pod updates may not change fields other than ${fields.join(',')}`)];
}

/** Everything in a pod's specification that stays as it is. */
function comparable(spec: JsonObject): JsonObject {
  const { activeDeadlineSeconds: _, tolerations: __, nodeName: ___, ...rest } = spec;
  const withoutImages = (name: string): unknown =>
    listAt(spec, name).map((container) => ({ ...(isJsonObject(container) ? container : {}), image: '' }));
  return {
    ...rest,
    containers: withoutImages('containers'),
    initContainers: withoutImages('initContainers'),
  };
}
