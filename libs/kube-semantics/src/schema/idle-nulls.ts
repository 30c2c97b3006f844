import { isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import type { SchemaNode } from './schema-node.js';

/**
 * The object without nulls that have no meaning: of fields that are not nullable and have no default to
 * become.
 */
export function withoutIdleNulls<T extends JsonObject>(object: T, schema: SchemaNode): T {
  return cleaned(object, schema) as T;
}

function cleaned(value: unknown, schema: SchemaNode | undefined): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) return cleanedList(value, schema);
  return isJsonObject(value) ? cleanedObject(value, schema) : value;
}

function cleanedObject(object: JsonObject, schema: SchemaNode): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (typeof value !== 'object') continue;
    const field = schema.field(name);
    if (value === null && field !== undefined && !field.nullable && field.default === undefined) {
      changed ??= { ...object };
      delete changed[name];
      continue;
    }
    const next = cleaned(value, field);
    if (next !== value) (changed ??= { ...object })[name] = next;
  }
  return changed ?? object;
}

function cleanedList(list: readonly unknown[], schema: SchemaNode): readonly unknown[] {
  const items = schema.items;
  const next = list.map((item) => cleaned(item, items));
  return next.every((item, index) => item === list[index]) ? list : next;
}
