import { errorsOfEach } from '../../schema/errors-of-each.js';
import { jsonEquals, type JsonObject } from '#lib/json';
import { recordAt, textAt } from '../../object/reading.js';
import { type FieldError, forbidden, invalid, required, tooLong } from '../../schema/field-error.js';
import { configKey } from '../../schema/names.js';
import { immutable, problems } from './checks.js';
import type { Validator } from './validator.js';

const MAX_BYTES = 1024 * 1024;
const FIXED = 'field is immutable when `immutable` is set';
/** Keys that a Secret of a type must hold; of the last ones one is enough. */
const NEEDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/ssh-auth', ['ssh-privatekey']],
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
]);

export const validateSecret: Validator = (secret, old) => {
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

export const validateConfigMap: Validator = (map, old) => {
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
