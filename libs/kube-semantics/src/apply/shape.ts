import { isJsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';

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
