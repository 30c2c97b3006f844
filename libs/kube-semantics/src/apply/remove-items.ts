import { isJsonObject, type JsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';
import type { FieldSet } from './field-set.js';
import { fieldElement, itemElement } from './path-element.js';
import { shapeOf } from './shape.js';

/** The object without the fields and items of a set. Maps and lists that become empty go too. */
export function removeItems<T extends JsonObject>(object: T, set: FieldSet, schema: SchemaNode): T {
  return (removed(object, set, schema) ?? {}) as T;
}

function removed(value: unknown, set: FieldSet, schema: SchemaNode | undefined): unknown {
  if (set.isEmpty) return value;
  const shape = shapeOf(schema, value);
  if (shape === 'map' && isJsonObject(value)) return removedFromMap(value, set, schema);
  if (shape === 'list' && Array.isArray(value) && schema !== undefined) {
    return removedFromList(value, set, schema);
  }
  return isJsonObject(value) || Array.isArray(value) ? undefined : value;
}

function removedFromMap(
  object: JsonObject,
  set: FieldSet,
  schema: SchemaNode | undefined,
): JsonObject | undefined {
  const entries = Object.entries(object).flatMap(([name, value]) => {
    const element = fieldElement(name);
    if (set.members.has(element)) return [];
    const left = removed(value, set.below(element), schema?.field(name));
    return [[name, left ?? null]];
  });
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as JsonObject);
}

function removedFromList(
  list: readonly unknown[],
  set: FieldSet,
  schema: SchemaNode,
): readonly unknown[] | undefined {
  const kept = list.flatMap((item) => {
    const element = itemElement(schema, item);
    if (set.members.has(element)) return [];
    return [removed(item, set.below(element), schema.items) ?? null];
  });
  return kept.length === 0 ? undefined : kept;
}
