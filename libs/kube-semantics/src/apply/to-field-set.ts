import { isJsonObject, type JsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';
import { fieldElement, type FieldSet, FieldSetBuilder, itemElement } from './field-set.js';

/**
 * Ownership of a value: `map` field by field, `list` item by item, `leaf` as a whole (scalars and fields
 * declared atomic). Without a schema, objects are maps and lists are leaves.
 */
export type Shape = 'map' | 'list' | 'leaf';

/** The shape of a place, by its schema and by its values (one may be missing). */
export function shapeOf(schema: SchemaNode | undefined, ...values: readonly unknown[]): Shape {
  const value = values.find((item) => item !== undefined && item !== null);
  if (value === undefined) return shapeOfType(schema);
  if (Array.isArray(value)) return isAssociative(schema) ? 'list' : 'leaf';
  if (!isJsonObject(value)) return 'leaf';
  if (schema === undefined) return 'map';
  const isMap = schema.type === 'object' || schema.type === '';
  return isMap && schema.mapType !== 'atomic' ? 'map' : 'leaf';
}

function shapeOfType(schema: SchemaNode | undefined): Shape {
  if (schema?.type === 'object') return schema.mapType === 'atomic' ? 'leaf' : 'map';
  return schema?.type === 'array' && isAssociative(schema) ? 'list' : 'leaf';
}

function isAssociative(schema: SchemaNode | undefined): boolean {
  return schema?.listType === 'set' || schema?.listType === 'map';
}

/**
 * True when there is nothing to own piece by piece: such a place is a leaf, so that empty and absent stay
 * different.
 */
export function isEmptyOrAbsent(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

/** Every field that an object states. */
export function toFieldSet(object: JsonObject, schema: SchemaNode): FieldSet {
  const builder = new FieldSetBuilder();
  visit(object, schema, builder);
  return builder.build();
}

function visit(value: unknown, schema: SchemaNode | undefined, out: FieldSetBuilder): void {
  switch (shapeOf(schema, value)) {
    case 'leaf':
      return out.add();
    case 'map':
      return isJsonObject(value) ? visitMap(value, schema, out) : undefined;
    case 'list':
      return Array.isArray(value) && schema !== undefined ? visitList(value, schema, out) : undefined;
  }
}

function visitMap(object: JsonObject, schema: SchemaNode | undefined, out: FieldSetBuilder): void {
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const at = out.below(fieldElement(name));
    visit(value, schema?.field(name), at);
    const isEmptyMap = isJsonObject(value) && Object.keys(value).length === 0;
    if (value === null || isEmptyMap || schema?.property(name) === undefined) at.add();
  }
}

function visitList(list: readonly unknown[], schema: SchemaNode, out: FieldSetBuilder): void {
  for (const [element, items] of Map.groupBy(list, (item) => itemElement(schema, item))) {
    const at = out.below(element);
    if (items.length === 1) visit(items[0], schema.items, at);
    at.add();
  }
}
