import { isJsonObject, type JsonObject } from '#lib/json';
import { RuleError, ruleProgram } from '../cel/rule-program.js';
import { listAt, textAt, textsAt } from '../object/reading.js';
import { applyDefaults } from '../schema/defaults.js';
import { type FieldError, forbidden, invalid, notSupported, required } from '../schema/field-error.js';
import { knownDefinition } from '../schema/known-definitions.js';
import { SchemaNode } from '../schema/schema-node.js';
import { validateValue } from '../schema/validate-value.js';
import { propertiesOf } from './structural.js';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const UNSUPPORTED = ['id', 'additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'];
const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** Rules for each place of a schema, beyond being structural. */
export function validateSchemaRules(schema: JsonObject, path: string): readonly FieldError[] {
  const { items, additionalProperties } = schema;
  const errors = [
    ...ownErrors(schema, path),
    ...listErrors(schema, path),
    ...mapErrors(schema, path),
    ...celErrors(schema, path),
    ...defaultErrors(schema, path),
  ];
  if (isJsonObject(items)) errors.push(...validateSchemaRules(items, `${path}.items`));
  if (isJsonObject(additionalProperties)) {
    errors.push(...validateSchemaRules(additionalProperties, `${path}.additionalProperties`));
  }
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    if (isJsonObject(property)) errors.push(...validateSchemaRules(property, `${path}.properties[${name}]`));
  }
  return errors;
}

function ownErrors(schema: JsonObject, path: string): readonly FieldError[] {
  const { type } = schema;
  const errors: FieldError[] = [];
  if (type === 'null')
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  else if (typeof type === 'string' && type !== '' && !TYPES.includes(type)) {
    errors.push(notSupported(`${path}.type`, type, TYPES));
  }
  if (schema['uniqueItems'] === true) {
    const text = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic';
    errors.push(forbidden(`${path}.uniqueItems`, text));
  }
  if (schema['additionalProperties'] === false) {
    errors.push(forbidden(`${path}.additionalProperties`, 'additionalProperties cannot be set to false'));
  } else if (schema['additionalProperties'] !== undefined && Object.keys(propertiesOf(schema)).length > 0) {
    errors.push(
      forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    );
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) {
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  }
  if (Array.isArray(schema['items'])) {
    errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  const said = UNSUPPORTED.filter((keyword) => schema[keyword] !== undefined);
  return [
    ...errors,
    ...said.map((keyword) => forbidden(`${path}.${keyword}`, `${keyword} is not supported`)),
  ];
}

function mapErrors(schema: JsonObject, path: string): readonly FieldError[] {
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return [];
  const errors = typeMustBe(schema, path, 'object', 'x-kubernetes-map-type');
  const isKnown = mapType === 'atomic' || mapType === 'granular';
  return isKnown
    ? errors
    : [...errors, notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular'])];
}

function typeMustBe(schema: JsonObject, path: string, type: string, keyword: string): readonly FieldError[] {
  const actual = textAt(schema, ['type']);
  if (actual === type) return [];
  const text = `must be ${type} if ${keyword} is specified`;
  return [actual === '' ? required(`${path}.type`, text) : invalid(`${path}.type`, actual, text)];
}

function listErrors(schema: JsonObject, path: string): readonly FieldError[] {
  const listType = schema['x-kubernetes-list-type'];
  const keys = textsAt(schema, 'x-kubernetes-list-map-keys');
  const at = `${path}.x-kubernetes-list-type`;
  const errors: FieldError[] = [];
  if (listType !== undefined) {
    errors.push(...typeMustBe(schema, path, 'array', 'x-kubernetes-list-type'));
    const supported = ['atomic', 'set', 'map'];
    if (!supported.includes(String(listType))) errors.push(notSupported(at, listType, supported));
  }
  if (keys.length > 0 && listType !== 'map') {
    const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
    errors.push(listType === undefined ? required(at, text) : invalid(at, listType, text));
  }
  return listType === 'map' ? [...errors, ...keyErrors(schema, keys, path)] : errors;
}

function keyErrors(schema: JsonObject, keys: readonly string[], path: string): readonly FieldError[] {
  const at = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) return [required(at, 'must not be empty if x-kubernetes-list-type is map')];
  const { items } = schema;
  if (!isJsonObject(items))
    return [required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')];
  const properties = propertiesOf(items);
  const needed = new Set(textsAt(items, 'required'));
  return keys.flatMap((key) => {
    const property = properties[key];
    if (!isJsonObject(property)) return [invalid(at, keys, 'entries must all be names of item properties')];
    if (needed.has(key) || property['default'] !== undefined) return [];
    const text =
      'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property';
    return [required(`${path}.items.properties[${key}].default`, text)];
  });
}

function celErrors(schema: JsonObject, path: string): readonly FieldError[] {
  return listAt(schema, 'x-kubernetes-validations').flatMap((rule, index) => {
    if (!isJsonObject(rule)) return [];
    const at = `${path}.x-kubernetes-validations[${index}]`;
    return [
      ...expressionErrors(rule, 'rule', at),
      ...(rule['messageExpression'] === undefined ? [] : expressionErrors(rule, 'messageExpression', at)),
      ...messageErrors(rule, at),
    ];
  });
}

function expressionErrors(rule: JsonObject, name: string, path: string): readonly FieldError[] {
  const source = textAt(rule, [name]).trim();
  const at = `${path}.${name}`;
  if (source === '') {
    const text =
      name === 'rule' ? 'rule is not specified' : 'messageExpression must be non-empty if specified';
    return [required(at, text)];
  }
  const program = ruleProgram(source);
  if (!(program instanceof RuleError)) return [];
  return [invalid(at, rule, `compilation failed: ${program.message}`)];
}

function messageErrors(rule: JsonObject, path: string): readonly FieldError[] {
  const { message, reason, fieldPath } = rule;
  const errors: FieldError[] = [];
  if (typeof message === 'string' && message !== '' && message.trim() === '') {
    errors.push(invalid(`${path}.message`, message, 'must be non-empty if specified'));
  } else if (typeof message === 'string' && message.trim().includes('\n')) {
    errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'));
  }
  if (reason !== undefined && !REASONS.includes(String(reason))) {
    errors.push(notSupported(`${path}.reason`, reason, REASONS));
  }
  if (typeof fieldPath === 'string' && fieldPath !== '' && !/^[.[]/.test(fieldPath.trim())) {
    errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
  }
  return errors;
}

/** A default must itself be valid, and say nothing that pruning would drop. */
function defaultErrors(schema: JsonObject, path: string): readonly FieldError[] {
  const value = schema['default'];
  if (value === undefined || value === null) return [];
  const node = new SchemaNode(schema, knownDefinition);
  const filled = isJsonObject(value) ? applyDefaults(value, node) : value;
  return validateValue(filled, node).map((error) => ({
    ...error,
    field: error.field === '<nil>' ? `${path}.default` : `${path}.default.${error.field}`,
  }));
}
