import { isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from './schema-node.js';

/** Fills in the schema's defaults. Nulls of fields that are not nullable count as absent. */
export function applyDefaults<T extends JsonObject>(object: T, schema: SchemaNode): T {
  return defaulted(object, schema) as T;
}

function defaulted(value: unknown, schema: SchemaNode | undefined): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) return defaultedList(value, schema);
  return isJsonObject(value) ? defaultedObject(value, schema) : value;
}

function defaultedObject(object: JsonObject, schema: SchemaNode): JsonObject {
  let changed: MutableJsonObject | undefined;
  for (const { name, node } of schema.defaultedProperties) {
    const present = own(object, name);
    const isMissing = present === undefined || (present === null && !node.nullable);
    if (isMissing) (changed ??= { ...object })[name] = node.default;
  }
  const filled = changed ?? object;
  for (const [name, value] of Object.entries(filled)) {
    const field = schema.field(name);
    const next = defaulted(
      value === null && field?.nullable === false ? (field.default ?? value) : value,
      field,
    );
    if (next !== value) (changed ??= { ...filled })[name] = next;
  }
  return changed ?? filled;
}

function defaultedList(list: readonly unknown[], schema: SchemaNode): readonly unknown[] {
  const items = schema.items;
  if (items === undefined) return list;
  let changed: unknown[] | undefined;
  list.forEach((item, index) => {
    const present = item === null && !items.nullable ? (items.default ?? item) : item;
    const next = defaulted(present, items);
    if (next !== item) (changed ??= [...list])[index] = next;
  });
  return changed ?? list;
}
