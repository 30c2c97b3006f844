import { isJsonObject, type JsonObject } from '#lib/json';
import { goValue } from '../schema/go-value.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { typeOf } from '../schema/validate-value.js';
import { fieldElement, itemElement, type PathElement, printElement, UnnamedItem } from './path-element.js';

/**
 * The first thing that is wrong with a configuration to apply, in the words of Kubernetes: `.spec.foo: field not
 * declared in schema`.
 */
export function appliedProblem(applied: JsonObject, schema: SchemaNode): string | undefined {
  return problems(applied, schema, '')[0];
}

function problems(value: unknown, schema: SchemaNode | undefined, path: string): readonly string[] {
  if (schema === undefined || value === null || value === undefined) return [];
  const mismatch = typeProblem(value, schema);
  if (mismatch !== undefined) return [`${path}: ${mismatch}`];
  if (isJsonObject(value)) return mapProblems(value, schema, path);
  return Array.isArray(value) ? listProblems(value, schema, path) : [];
}

function typeProblem(value: unknown, schema: SchemaNode): string | undefined {
  if (schema.intOrString) return undefined;
  const actual = typeOf(value);
  const shown = goValue(value);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return actual === 'integer' || actual === 'number'
        ? undefined
        : `expected numeric (int or float), got ${actual}`;
    case 'string':
      return schema.text('format') !== undefined || actual === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${shown}}`;
    case 'boolean':
      return actual === 'boolean' ? undefined : `expected boolean, got &{${shown}}`;
    case 'object':
      return actual === 'object' ? undefined : `expected map, got &{${shown}}`;
    case 'array':
      return actual === 'array' ? undefined : `expected list, got &{${shown}}`;
    default:
      return undefined;
  }
}

function mapProblems(object: JsonObject, schema: SchemaNode, path: string): readonly string[] {
  const isOpen = schema.preserveUnknown || schema.type === '' || schema.propertyNames.length === 0;
  return Object.entries(object).flatMap(([name, value]) => {
    const at = `${path}${printElement(fieldElement(name))}`;
    const field = schema.field(name);
    if (field === undefined) return isOpen ? [] : [`${at}: field not declared in schema`];
    return problems(value, field, at);
  });
}

function listProblems(list: readonly unknown[], schema: SchemaNode, path: string): readonly string[] {
  if (schema.listType !== 'set' && schema.listType !== 'map') {
    return list.flatMap((item, index) => problems(item, schema.items, `${path}[${index}]`));
  }
  const seen = new Set<PathElement>();
  return list.flatMap((item, index) => {
    try {
      const element = itemElement(schema, item);
      const at = `${path}${printElement(element)}`;
      if (seen.has(element)) return [`${path}: duplicate entries for key ${printElement(element)}`];
      seen.add(element);
      return problems(item, schema.items, at);
    } catch (thrown) {
      if (thrown instanceof UnnamedItem) return [`${path}: element ${index}: ${thrown.message}`];
      throw thrown;
    }
  });
}
