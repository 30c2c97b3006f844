import { isJsonObject, type JsonObject } from '#lib/json';
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
    return items === undefined ? value : value.map((item) => canonicalValue(item, items));
  }
  return isJsonObject(value) ? canonicalObject(value, schema) : value;
}

function canonicalObject(object: JsonObject, schema: SchemaNode): JsonObject {
  const out: [string, unknown][] = [];
  for (const [name, value] of Object.entries(object)) {
    const field = schema.field(name);
    if (field !== undefined && isEmptyCollection(value, field)) continue;
    out.push([name, canonicalValue(value, field)]);
  }
  for (const { name, node } of schema.zeroProperties) {
    if ((object[name] ?? null) !== null && out.some(([present]) => present === name)) continue;
    out.push([name, canonicalValue(node.zero, node)]);
  }
  return Object.fromEntries(out);
}

function isEmptyCollection(value: unknown, schema: SchemaNode): boolean {
  if (Array.isArray(value)) return value.length === 0;
  const isMap = schema.additionalProperties !== undefined && schema.propertyNames.length === 0;
  return isMap && isJsonObject(value) && Object.keys(value).length === 0;
}
