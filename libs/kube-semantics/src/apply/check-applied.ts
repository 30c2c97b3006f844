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
  return problem(applied, schema, '');
}

function problem(value: unknown, schema: SchemaNode | undefined, path: string): string | undefined {
  if (schema === undefined || value === null || value === undefined) return undefined;
  const mismatch = typeProblem(value, schema);
  if (mismatch !== undefined) return `${path}: ${mismatch}`;
  if (isJsonObject(value)) return mapProblem(value, schema, path);
  return Array.isArray(value) ? listProblem(value, schema, path) : undefined;
}

function typeProblem(value: unknown, schema: SchemaNode): string | undefined {
  if (schema.intOrString) return undefined;
  const actual = typeOf(value);
  switch (schema.type) {
    case 'integer':
    case 'number':
      return actual === 'integer' || actual === 'number'
        ? undefined
        : `expected numeric (int or float), got ${actual}`;
    case 'string':
      return schema.text('format') !== undefined || actual === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`;
    case 'boolean':
      return actual === 'boolean' ? undefined : `expected boolean, got &{${goValue(value)}}`;
    case 'object':
      return actual === 'object' ? undefined : `expected map, got &{${goValue(value)}}`;
    case 'array':
      return actual === 'array' ? undefined : `expected list, got &{${goValue(value)}}`;
    default:
      return undefined;
  }
}

function mapProblem(object: JsonObject, schema: SchemaNode, path: string): string | undefined {
  const isOpen = schema.preserveUnknown || schema.type === '' || schema.propertyNames.length === 0;
  for (const [name, value] of Object.entries(object)) {
    const at = `${path}${printElement(fieldElement(name))}`;
    const field = schema.field(name);
    if (field === undefined && !isOpen) return `${at}: field not declared in schema`;
    const found = problem(value, field, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

function listProblem(list: readonly unknown[], schema: SchemaNode, path: string): string | undefined {
  const isAssociative = schema.listType === 'set' || schema.listType === 'map';
  const seen = new Set<PathElement>();
  for (const [index, item] of list.entries()) {
    const found = isAssociative
      ? itemProblem(item, { schema, path, index, seen })
      : problem(item, schema.items, `${path}[${index}]`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Position of an item in a set or map, and its predecessor. */
interface ItemPlace {
  readonly schema: SchemaNode;
  readonly path: string;
  readonly index: number;
  readonly seen: Set<PathElement>;
}

function itemProblem(item: unknown, { schema, path, index, seen }: ItemPlace): string | undefined {
  try {
    const element = itemElement(schema, item);
    if (seen.has(element)) return `${path}: duplicate entries for key ${printElement(element)}`;
    seen.add(element);
    return problem(item, schema.items, `${path}${printElement(element)}`);
  } catch (thrown) {
    if (thrown instanceof UnnamedItem) return `${path}: element ${index}: ${thrown.message}`;
    throw thrown;
  }
}
