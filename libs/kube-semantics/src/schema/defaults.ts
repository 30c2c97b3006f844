import { isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from './schema-node.js';

/**
 * An object as Kubernetes' Go types write it: parts that are never omitted are present (nested structs, required lists as
 * null, required scalars as zero), empty lists and maps that may be left out are left out. For custom resources, whose
 * schemas say nothing of this, it changes only what is empty, so it is not for them.
 */
export function canonical<T extends JsonObject>(object: T, schema: SchemaNode): T {
  return canonicalObject(object, schema) as T;
}

function canonicalValue(value: unknown, schema: SchemaNode | undefined): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return value;
    const next = value.map((item) => canonicalValue(item, items));
    return next.every((item, index) => item === value[index]) ? value : next;
  }
  return isJsonObject(value) ? canonicalObject(value, schema) : value;
}

/** The object itself where nothing changes: one may have a hundred thousand entries. */
function canonicalObject(object: JsonObject, schema: SchemaNode): JsonObject {
  let changed: Map<string, unknown> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (typeof value !== 'object' || value === null) continue;
    const field = schema.field(name);
    if (field !== undefined && isEmptyCollection(value, field)) {
      (changed ??= new Map(Object.entries(object))).delete(name);
      continue;
    }
    const next = canonicalValue(value, field);
    if (next !== value) (changed ??= new Map(Object.entries(object))).set(name, next);
  }
  for (const { name, node } of schema.zeroProperties) {
    const isPresent = changed ? changed.has(name) : Object.hasOwn(object, name);
    if ((object[name] ?? null) !== null && isPresent) continue;
    (changed ??= new Map(Object.entries(object))).set(name, canonicalValue(node.zero, node));
  }
  return changed ? Object.fromEntries(changed) : object;
}

function isEmptyCollection(value: unknown, schema: SchemaNode): boolean {
  if (Array.isArray(value)) return value.length === 0;
  const isMap = schema.additionalProperties !== undefined && schema.propertyNames.length === 0;
  return isMap && isJsonObject(value) && Object.keys(value).length === 0;
}

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
