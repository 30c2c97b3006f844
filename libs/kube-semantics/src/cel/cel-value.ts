import { evaluate } from '@marcbachmann/cel-js';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';
import { celFieldName } from './field-name.js';

const META_OF_RULES = new Set(['name', 'generateName']);

/**
 * A value as rules see it: integers as int, dates, durations and bytes as such, names of fields escaped.
 * Fields that the schema does not declare are absent, of metadata only the name is present.
 */
export function celValue(value: unknown, schema: SchemaNode, isRoot = false): unknown {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) {
    const items = schema.items;
    return value.map((item) => (items === undefined ? freeValue(item) : celValue(item, items)));
  }
  if (isJsonObject(value)) return celObject(value, schema, isRoot);
  if (typeof value === 'number') return celNumber(value, schema);
  if (typeof value === 'bigint' && schema.type === 'number') return Number(value);
  return typeof value === 'string' ? celString(value, schema) : value;
}

function celObject(object: JsonObject, schema: SchemaNode, isRoot: boolean): JsonObject {
  const additional = schema.additionalProperties;
  const isResource = isRoot || schema.embeddedResource;
  const entries = Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
    if (value === undefined) return [];
    if (isResource && name === 'metadata') return [[name, metaOfRules(value)]];
    if (isResource && (name === 'apiVersion' || name === 'kind')) return [[name, value]];
    const property = schema.property(name);
    if (property !== undefined) return [[celFieldName(name), celValue(value, property)]];
    return additional === undefined ? [] : [[name, celValue(value, additional)]];
  });
  return Object.fromEntries(entries);
}

function metaOfRules(metadata: unknown): JsonObject {
  if (!isJsonObject(metadata)) return {};
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => META_OF_RULES.has(name)));
}

function celNumber(value: number, schema: SchemaNode): unknown {
  const isInteger = schema.type === 'integer' || (schema.type !== 'number' && Number.isInteger(value));
  return isInteger && Number.isInteger(value) ? BigInt(value) : value;
}

function celString(value: string, schema: SchemaNode): unknown {
  switch (schema.text('format') ?? '') {
    case 'date':
      return new Date(`${value}T00:00:00Z`);
    case 'date-time':
      return new Date(value);
    case 'duration':
      return evaluate('duration(text)', { text: value });
    case 'byte':
      return new Uint8Array(Buffer.from(value, 'base64'));
    default:
      return value;
  }
}

/** A value that no schema describes. */
function freeValue(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(freeValue);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, freeValue(item)]));
}
