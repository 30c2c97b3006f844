import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { type FieldError, forbidden, invalid, required } from '../schema/field-error.js';
import { pattern } from '../schema/pattern.js';

/** Fields that junctors speak of without the structure declaring them. */
function undeclared(schema: JsonObject, path: string): readonly FieldError[] {
  return [...compare(schema, schema, path, path), ...inner(schema, path)];
}

/** The same inside the declared fields. */
function inner(schema: JsonObject, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, property] of entries(schema, 'properties')) {
    errors.push(...undeclared(property, `${path}.properties[${name}]`));
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const child = schema[keyword];
    if (isJsonObject(child)) errors.push(...undeclared(child, `${path}.${keyword}`));
  }
  return errors;
}

function compare(structure: JsonObject, said: JsonObject, path: string, from: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const junctor of ['allOf', 'anyOf', 'oneOf']) {
    const branches = said[junctor];
    if (!Array.isArray(branches)) continue;
    branches.forEach((branch: unknown, index) => {
      if (isJsonObject(branch))
        errors.push(...compareBranch(structure, branch, path, `${from}.${junctor}[${index}]`));
    });
  }
  if (isJsonObject(said['not'])) errors.push(...compareBranch(structure, said['not'], path, `${from}.not`));
  return errors;
}

function compareBranch(
  structure: JsonObject,
  branch: JsonObject,
  path: string,
  from: string,
): readonly FieldError[] {
  const errors = [...compare(structure, branch, path, from)];
  const declared = isJsonObject(structure['properties']) ? structure['properties'] : {};
  for (const [name, property] of entries(branch, 'properties')) {
    const own = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const at = `${path}.properties[${name}]`;
    if (!isJsonObject(own)) errors.push(required(at, `because it is defined in ${from}.properties[${name}]`));
    else errors.push(...compareBranch(own, property, at, `${from}.properties[${name}]`));
  }
  const items = branch['items'];
  if (isJsonObject(items)) {
    const own = structure['items'];
    if (!isJsonObject(own)) errors.push(required(`${path}.items`, `because it is defined in ${from}.items`));
    else errors.push(...compareBranch(own, items, `${path}.items`, `${from}.items`));
  }
  return errors;
}

function entries(schema: JsonObject, keyword: string): readonly (readonly [string, JsonObject])[] {
  const found = schema[keyword];
  if (!isJsonObject(found)) return [];
  return Object.entries(found).flatMap(([name, value]) =>
    isJsonObject(value) ? [[name, value] as const] : [],
  );
}

type Level = 'root' | 'item' | 'field';

const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];
const TYPE_TEXT: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};
const JUNCTORS = ['anyOf', 'allOf', 'oneOf'] as const;
/** Keywords that only the structure itself may have, not a junctor: word of the message by keyword. */
const ONLY_IN_STRUCTURE: Readonly<Record<string, string>> = {
  type: 'empty',
  additionalProperties: 'undefined',
  default: 'undefined',
  title: 'empty',
  description: 'empty',
  nullable: 'false',
  'x-kubernetes-preserve-unknown-fields': 'false',
  'x-kubernetes-embedded-resource': 'false',
  'x-kubernetes-int-or-string': 'false',
  'x-kubernetes-list-map-keys': 'empty',
  'x-kubernetes-list-type': 'undefined',
  'x-kubernetes-map-type': 'undefined',
};

/**
 * Checks that a schema is structural: every place has a type, junctors only restrict what the structure
 * declares. Source of the rules: `apiserver/schema` of apiextensions-apiserver.
 */
export function validateStructural(schema: JsonObject, path: string): readonly FieldError[] {
  const broken = invariants(schema, 'root', path);
  const errors = broken.length > 0 ? broken : undeclared(schema, path);
  return errors.toSorted((a, b) => (`${a.field}: ${a.message}` < `${b.field}: ${b.message}` ? -1 : 1));
}

function invariants(schema: JsonObject, level: Level, path: string): readonly FieldError[] {
  const { items, additionalProperties } = schema;
  const errors: FieldError[] = [];
  if (schema['type'] === 'array' && !isJsonObject(items))
    errors.push(required(`${path}.items`, 'must be specified'));
  if (isJsonObject(items)) errors.push(...invariants(items, 'item', `${path}.items`));
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (isJsonObject(property)) errors.push(...invariants(property, 'field', `${path}.properties[${name}]`));
  }
  if (additionalProperties !== undefined && level === 'root') {
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  }
  if (isJsonObject(additionalProperties)) {
    errors.push(...invariants(additionalProperties, 'field', `${path}.additionalProperties`));
  }
  return [
    ...errors,
    ...extensionErrors(schema, path),
    ...typeErrors(schema, level, path),
    ...junctorErrors(schema, path),
  ];
}

export function propertiesOf(schema: JsonObject): JsonObject {
  return isJsonObject(schema['properties']) ? schema['properties'] : {};
}

function extensionErrors(schema: JsonObject, path: string): readonly FieldError[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return [];
  return ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']
    .filter((name) => schema[name] === true)
    .map((name) => invalid(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'));
}

function typeErrors(schema: JsonObject, level: Level, path: string): readonly FieldError[] {
  const type = typeof schema['type'] === 'string' ? schema['type'] : '';
  const at = `${path}.type`;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  if (isEmbedded && type !== 'object') {
    const text = 'must be object if x-kubernetes-embedded-resource is true';
    return [type === '' ? required(at, text) : invalid(at, type, text)];
  }
  const isFree =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (type === '' && !isFree) return [required(at, TYPE_TEXT[level])];
  if (level === 'root' && type !== '' && type !== 'object')
    return [invalid(at, type, 'must be object at the root')];
  const isResource = level === 'root' || isEmbedded;
  return isResource ? metaErrors(schema, level, path) : [];
}

/** The fields of every object: strings, and metadata that only narrows the name. */
function metaErrors(schema: JsonObject, level: Level, path: string): readonly FieldError[] {
  const properties = propertiesOf(schema);
  const errors = ['kind', 'apiVersion'].flatMap((name) => {
    const property = properties[name];
    if (!isJsonObject(property) || property['type'] === 'string') return [];
    return [invalid(`${path}.properties[${name}].type`, property['type'], 'must be string')];
  });
  const { metadata } = properties;
  if (!isJsonObject(metadata)) return errors;
  const at = `${path}.properties[metadata]`;
  if (metadata['type'] !== 'object')
    errors.push(invalid(`${at}.type`, metadata['type'] ?? '', 'must be object'));
  const { properties: named, type: _, description: __, default: ___, ...rest } = metadata;
  const isNarrow = Object.keys(isJsonObject(named) ? named : {}).every(
    (name) => name === 'name' || name === 'generateName',
  );
  if (level === 'root' && (Object.keys(rest).length > 0 || !isNarrow)) {
    const text =
      'must not specify anything other than name and generateName, but metadata is implicitly specified';
    errors.push(forbidden(at, text));
  }
  return errors;
}

function junctorErrors(
  schema: JsonObject,
  path: string,
  skipAnyOf = isIntOrString(schema),
): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const name of JUNCTORS) {
    const branches = schema[name];
    if (!Array.isArray(branches) || (name === 'anyOf' && skipAnyOf)) continue;
    branches.forEach((branch: unknown, index) => {
      if (!isJsonObject(branch)) return;
      const skip = name === 'allOf' && index === 0 && jsonEquals(branch['anyOf'], INT_OR_STRING);
      errors.push(...nestedErrors(branch, `${path}.${name}[${index}]`, skip));
    });
  }
  if (isJsonObject(schema['not'])) errors.push(...nestedErrors(schema['not'], `${path}.not`));
  const source = schema['pattern'];
  const compiled = typeof source === 'string' ? pattern(source) : undefined;
  if (compiled instanceof Error) {
    const text = `must be a valid regular expression, but isn't: ${compiled.message}`;
    errors.push(invalid(`${path}.pattern`, source, text));
  }
  return errors;
}

/** True when a junctor is the one that is allowed to state types. */
function isIntOrString(schema: JsonObject): boolean {
  return jsonEquals(schema['anyOf'], INT_OR_STRING);
}

function nestedErrors(schema: JsonObject, path: string, skipAnyOf = false): readonly FieldError[] {
  const errors = [...junctorErrors(schema, path, skipAnyOf)];
  if (isJsonObject(schema['items'])) errors.push(...nestedErrors(schema['items'], `${path}.items`));
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const at = `${path}.properties[${name}]`;
    if (isJsonObject(property)) errors.push(...nestedErrors(property, at));
    if (name === 'metadata') errors.push(forbidden(at, 'must not be specified in a nested context'));
  }
  for (const [keyword, word] of Object.entries(ONLY_IN_STRUCTURE)) {
    const value = schema[keyword];
    const isSaid = value !== undefined && value !== false && value !== '';
    if (isSaid) errors.push(forbidden(`${path}.${keyword}`, `must be ${word} to be structural`));
  }
  return errors;
}
