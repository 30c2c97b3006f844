import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import {
  type FieldError,
  invalid,
  MOST_ERRORS,
  notSupported,
  required,
  tooLong,
  tooMany,
  typeInvalid,
} from './field-error.js';
import { isIP, isIPv6 } from './ip-address.js';
import { pattern } from './pattern.js';
import { type Correlated, correlatedField, correlatedItem, type SchemaNode } from './schema-node.js';

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const UUID5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const DURATION =
  /^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/;
const SCALA_DURATION =
  /^\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/;
const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)$/;
const SHORT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LONG_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The formats that a schema may ask for, by their names without dashes; others are ignored. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: (text) => /^[0-9a-f]{24}$/i.test(text),
  uri: isRequestUri,
  email: (text) => /^([^<>]*<)?[^\s@<>]+@[^\s@<>]+>?$/.test(text.trim()),
  hostname: isHostname,
  ipv4: (text) => isIP(withoutLeadingZeros(text)) === 4,
  ipv6: (text) => isIPv6(text),
  cidr: isCidr,
  mac: (text) =>
    /^([0-9a-f]{2}([:-])([0-9a-f]{2}\2){4}[0-9a-f]{2}|([0-9a-f]{4}\.){2}[0-9a-f]{4})$/i.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID3.test(text),
  uuid4: (text) => UUID4.test(text),
  uuid5: (text) => UUID5.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  rgbcolor: (text) => /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.test(text),
  ssn: (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text),
  byte: (text) =>
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  password: () => true,
  date: isDate,
  duration: (text) => text === '0' || DURATION.test(text) || SCALA_DURATION.test(text),
  datetime: (text) => DATE_TIME.test(text) && isDate(text.slice(0, 10)),
  k8sshortname: (text) => text.length <= 63 && SHORT_NAME.test(text),
  k8slongname: (text) => text.length <= 253 && LONG_NAME.test(text),
};

/** True when a string fits a format; unknown formats fit everything. */
export function fitsFormat(format: string, text: string): boolean {
  const name = format.replaceAll('-', '');
  return (Object.hasOwn(FORMATS, name) ? FORMATS[name]?.(text) : undefined) ?? true;
}

function isRequestUri(text: string): boolean {
  if (text.startsWith('/')) return !/[\s\\^`{|}<>"]/.test(text);
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text) && URL.canParse(text);
}

function isHostname(text: string): boolean {
  return HOSTNAME.test(text) && text.length <= 255 && text.split('.').every((part) => part.length <= 63);
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', more] = text.split('/');
  const kind = isIP(withoutLeadingZeros(address));
  return kind > 0 && more === undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= (kind === 4 ? 32 : 128);
}

function isDate(text: string): boolean {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (found === null) return false;
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number];
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** Kubernetes takes `010.0.0.1` as older Go versions did. */
function withoutLeadingZeros(address: string): string {
  return address.includes(':') ? address : address.replaceAll(/(^|\.)0+(?=\d)/g, '$1');
}

/** Errors at a place, and how many checks it passed: of several failing branches the best one is reported. */
interface Outcome {
  readonly errors: readonly FieldError[];
  readonly matches: number;
}

/** A value, the schema for it, and where it is. */
interface Place {
  readonly schema: SchemaNode;
  readonly value: unknown;
  readonly path: string;
  readonly correlated: Correlated | undefined;
}

const NONE: Outcome = { errors: [], matches: 0 };
const ONE: Outcome = { errors: [], matches: 1 };

/**
 * Validates types, bounds, formats and junctors with the words and the order of Kubernetes' OpenAPI validator. With
 * an old value, errors inside what did not change are let through.
 */
export function validateValue(
  value: unknown,
  schema: SchemaNode,
  old?: Correlated,
  path = '',
): readonly FieldError[] {
  return ratcheted({ schema, value, path, correlated: old }).errors;
}

function ratcheted(place: Place): Outcome {
  const outcome = check(place);
  if (outcome.errors.length === 0 || place.correlated === undefined) return outcome;
  return jsonEquals(place.correlated.old, place.value) ? { errors: [], matches: outcome.matches } : outcome;
}

function check(place: Place): Outcome {
  if (place.value === null || place.value === undefined) return merge([checkType(place), checkEnum(place)]);
  const parts = [checkType(place), checkJunctors(place)];
  if (typeof place.value === 'string') parts.push(checkString(place), checkFormat(place));
  if (typeof place.value === 'number' || typeof place.value === 'bigint')
    parts.push(checkNumber(place, place.value));
  if (Array.isArray(place.value)) parts.push(checkList(place, place.value));
  parts.push(checkEnum(place));
  if (isJsonObject(place.value)) parts.push(checkObject(place, place.value));
  const merged = merge(parts);
  return { errors: merged.errors, matches: merged.matches + parts.length + 1 };
}

function merge(outcomes: readonly Outcome[]): Outcome {
  return {
    errors: outcomes.flatMap((outcome) => outcome.errors),
    matches: outcomes.reduce((sum, outcome) => sum + outcome.matches, 0),
  };
}

const failed = (error: FieldError): Outcome => ({ errors: [error], matches: 0 });

/** JSON Schema's name of a value's type. */
export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'integer';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function fits(wanted: readonly string[], actual: string): boolean {
  return wanted.includes(actual) || (actual === 'integer' && wanted.includes('number'));
}

function checkType({ schema, value, path }: Place): Outcome {
  const wanted = schema.intOrString ? ['integer', 'string'] : schema.type === '' ? [] : [schema.type];
  if (wanted.length === 0) return ONE;
  const actual = typeOf(value);
  if (actual === 'null' ? schema.nullable : fits(wanted, actual)) return ONE;
  return failed(
    typeInvalid(
      path,
      actual,
      `${path} in body must be of type ${wanted.join(',')}: ${JSON.stringify(actual)}`,
    ),
  );
}

function checkEnum({ schema, value, path }: Place): Outcome {
  const allowed = schema.enum;
  if (allowed === undefined || allowed.some((candidate) => jsonEquals(candidate, value ?? null))) return NONE;
  const words = allowed.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
  return failed(notSupported(path, value, words));
}

function checkString({ schema, value, path }: Place): Outcome {
  const text = String(value);
  const length = [...text].length;
  const most = schema.bound('maxLength');
  if (most !== undefined && length > most) return failed(tooLong(path, most));
  const least = schema.bound('minLength');
  if (least !== undefined && length < least) {
    return failed(invalid(path, text, `${path} in body should be at least ${least} chars long`));
  }
  const source = schema.text('pattern');
  if (source === undefined || source === '') return NONE;
  const expression = pattern(source);
  if (!(expression instanceof Error) && expression.matcher(text).find()) return NONE;
  const said =
    expression instanceof Error ? `${source}, but pattern is invalid: ${expression.message}` : source;
  return failed(invalid(path, text, `${path} in body should match '${said}'`));
}

function checkFormat({ schema, value, path }: Place): Outcome {
  const format = schema.text('format');
  if (format === undefined || schema.intOrString || fitsFormat(format, String(value))) return NONE;
  return failed(
    typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`),
  );
}

function checkNumber({ schema, path }: Place, number: number | bigint): Outcome {
  const isAt = (bound: number): boolean => number <= bound && number >= bound;
  const errors: FieldError[] = [];
  const say = (text: string): number =>
    errors.push(invalid(path, number, `${path} in body should be ${text}`));
  const factor = schema.bound('multipleOf');
  if (factor !== undefined && !isMultiple(Number(number), factor)) say(`a multiple of ${factor}`);
  const least = schema.bound('minimum');
  const above = schema.source['exclusiveMinimum'] === true;
  if (least !== undefined && (number < least || (above && isAt(least)))) {
    say(above ? `greater than ${least}` : `greater than or equal to ${least}`);
  }
  const most = schema.bound('maximum');
  const below = schema.source['exclusiveMaximum'] === true;
  if (most !== undefined && (number > most || (below && isAt(most)))) {
    say(below ? `less than ${most}` : `less than or equal to ${most}`);
  }
  return { errors, matches: 1 };
}

function isMultiple(number: number, factor: number): boolean {
  if (factor <= 0) return true;
  const times = factor < 1 ? (1 / factor) * number : number / factor;
  return Math.abs(times - Math.round(times)) < 1e-9;
}

function checkList({ schema, value: _, path, correlated }: Place, list: readonly unknown[]): Outcome {
  const items = schema.items;
  const inner =
    items === undefined
      ? []
      : outcomesOf(list, (item, index) => ({
          schema: items,
          value: item,
          path: `${path}[${index}]`,
          correlated: correlatedItem(correlated, schema, item),
        }));
  const errors: FieldError[] = [];
  const least = schema.bound('minItems');
  if (least !== undefined && list.length < least) {
    errors.push(invalid(path, list.length, `${path} in body should have at least ${least} items`));
  }
  const most = schema.bound('maxItems');
  if (most !== undefined && list.length > most) errors.push(tooMany(path, list.length, most));
  return merge([...inner, { errors, matches: 1 }]);
}

/** Errors of the items; after many mistakes the rest is not checked. */
function outcomesOf(
  list: readonly unknown[],
  placeOf: (item: unknown, index: number) => Place,
): readonly Outcome[] {
  const outcomes: Outcome[] = [];
  let errors = 0;
  for (const [index, item] of list.entries()) {
    const outcome = ratcheted(placeOf(item, index));
    outcomes.push(outcome);
    errors += outcome.errors.length;
    if (errors >= MOST_ERRORS) break;
  }
  return outcomes;
}

function checkObject({ schema, path, correlated }: Place, object: JsonObject): Outcome {
  const errors: FieldError[] = [];
  const count = Object.keys(object).length;
  const least = schema.bound('minProperties');
  if (least !== undefined && count < least) {
    errors.push(invalid(path, count, `${path} in body should have at least ${least} properties`));
  }
  const most = schema.bound('maxProperties');
  if (most !== undefined && count > most) errors.push(tooMany(path, count, most));
  const inner: Outcome[] = [];
  let found = 0;
  for (const [name, value] of Object.entries(object)) {
    const sub = schema.field(name);
    if (value === undefined) continue;
    const at = path === '' ? name : `${path}.${name}`;
    if (sub === undefined) {
      if (schema.source['additionalProperties'] === false && schema.property(name) === undefined) {
        errors.push(invalid(path, name, `${path}.${name} in body is a forbidden property`));
      }
      continue;
    }
    const isTypeMeta = path === '' && (name === 'kind' || name === 'apiVersion');
    const old = isTypeMeta ? undefined : correlatedField(correlated, name);
    const outcome = ratcheted({ schema: sub, value, path: at, correlated: old });
    inner.push(outcome);
    found += outcome.errors.length;
    if (found >= MOST_ERRORS) break;
  }
  for (const name of schema.required) {
    if (own(object, name) === undefined) errors.push(required(path === '' ? name : `${path}.${name}`));
  }
  return merge([...inner, { errors, matches: 0 }]);
}

function checkJunctors(place: Place): Outcome {
  const outcomes: Outcome[] = [ONE];
  const anyOf = place.schema.branches('anyOf');
  if (anyOf.length > 0) outcomes.push(checkAnyOf(place, anyOf));
  const oneOf = place.schema.branches('oneOf');
  if (oneOf.length > 0) outcomes.push(checkOneOf(place, oneOf));
  const allOf = place.schema.branches('allOf');
  if (allOf.length > 0) outcomes.push(checkAllOf(place, allOf));
  const not = place.schema.not;
  if (not !== undefined && check({ ...place, schema: not }).errors.length === 0) {
    outcomes.push(junctor(place.path, 'must not validate the schema (not)'));
  }
  return merge(outcomes);
}

function junctor(path: string, text: string): Outcome {
  return failed(invalid('', '', `${JSON.stringify(path)} ${text}`));
}

function best(outcomes: readonly Outcome[]): Outcome {
  return outcomes.reduce((left, right) => (right.matches > left.matches ? right : left), outcomes[0] ?? NONE);
}

function checkAnyOf(place: Place, branches: readonly SchemaNode[]): Outcome {
  const failures: Outcome[] = [];
  for (const schema of branches) {
    const outcome = check({ ...place, schema });
    if (outcome.errors.length === 0) return outcome;
    failures.push(outcome);
  }
  return merge([junctor(place.path, 'must validate at least one schema (anyOf)'), best(failures)]);
}

function checkOneOf(place: Place, branches: readonly SchemaNode[]): Outcome {
  const outcomes = branches.map((schema) => check({ ...place, schema }));
  const valid = outcomes.filter((outcome) => outcome.errors.length === 0);
  if (valid.length === 1) return valid[0] ?? NONE;
  const found = valid.length === 0 ? 'Found none valid' : `Found ${valid.length} valid alternatives`;
  const said = junctor(place.path, `must validate one and only one schema (oneOf). ${found}`);
  return valid.length === 0 ? merge([said, best(outcomes)]) : said;
}

function checkAllOf(place: Place, branches: readonly SchemaNode[]): Outcome {
  const outcomes = branches.map((schema) => check({ ...place, schema }));
  const valid = outcomes.filter((outcome) => outcome.errors.length === 0).length;
  if (valid === branches.length) return merge(outcomes);
  const none = valid === 0 ? '. None validated' : '';
  return merge([...outcomes, junctor(place.path, `must validate all the schemas (allOf)${none}`)]);
}
