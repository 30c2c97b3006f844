import { isJsonObject, type JsonObject } from '#lib/json';
import { at as valueAt, recordAt, textAt } from '../../object/reading.js';
import { type FieldError, invalid, notSupported, required } from '../../schema/field-error.js';
import { configKey, dnsSubdomain, environmentName, qualifiedName } from '../../schema/names.js';
import { eachItem, named, problems } from './checks.js';

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
export function validateEnv(env: unknown, path: string): readonly FieldError[] {
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
export function validateEnvFrom(envFrom: unknown, path: string): readonly FieldError[] {
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
