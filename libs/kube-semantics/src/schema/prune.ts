import { isJsonObject, type JsonObject, type MutableJsonObject } from '#lib/json';
import type { Pruned, SchemaNode } from './schema-node.js';

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

const META_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * Structural pruning, of nulls that mean nothing too. `metadata` is the schema of an object's metadata, used for the root and embedded resources.
 * Source of the rules: `apiserver/schema/pruning` and `objectmeta` of apiextensions-apiserver.
 */
export function prune<T extends JsonObject>(object: T, root: SchemaNode, metadata: SchemaNode): Pruned<T> {
  const pruner = new Pruner(metadata);
  const pruned = withoutIdleNulls(pruner.object(object, root, '', true), root);
  return { object: pruned as T, unknownFields: pruner.unknownFields };
}

/**
 * Limits of names and letters, more than people read: one key of a megabyte is in the path of each of its
 * thousands of fields, which together would fill all memory.
 */
const MOST_UNKNOWN = 1_000;
const MOST_UNKNOWN_LETTERS = 256 * 1024;

class Pruner {
  readonly #unknown: string[] = [];
  readonly #unknownOfMetadata: string[] = [];
  #letters = 0;

  constructor(private readonly metadata: SchemaNode) {}

  /** Fields in the order of Kubernetes: the object's metadata, its fields, metadata of embedded resources. */
  get unknownFields(): readonly string[] {
    const isOwn = (path: string): boolean => path.startsWith('metadata.');
    return [
      ...this.#unknownOfMetadata.filter(isOwn).toSorted(),
      ...this.#unknown.toSorted(),
      ...this.#unknownOfMetadata.filter((path) => !isOwn(path)).toSorted(),
    ];
  }

  value(value: unknown, schema: SchemaNode | undefined, path: string): unknown {
    if (Array.isArray(value)) return this.#list(value, schema, path);
    return isJsonObject(value) ? this.object(value, schema, path, false) : value;
  }

  object(object: JsonObject, schema: SchemaNode | undefined, path: string, isRoot: boolean): JsonObject {
    const isResource = isRoot || schema?.embeddedResource === true;
    let changed: MutableJsonObject | undefined;
    for (const [name, value] of Object.entries(object)) {
      const at = path === '' ? name : `${path}.${name}`;
      const sub = this.#schemaOf(name, schema, isResource);
      if (sub === 'unknown') {
        this.#report(at, schema);
        changed ??= { ...object };
        delete changed[name];
      } else if (sub !== 'keep') {
        const kept = this.value(value, sub, at);
        if (kept !== value) (changed ??= { ...object })[name] = kept;
      }
    }
    return changed ?? object;
  }

  /** The first is reported however long it is: by none, an object with unknown fields would pass for one without. */
  #report(path: string, schema: SchemaNode | undefined): void {
    const count = this.#unknown.length + this.#unknownOfMetadata.length;
    this.#letters += path.length;
    if (count > 0 && (count >= MOST_UNKNOWN || this.#letters > MOST_UNKNOWN_LETTERS)) return;
    (schema === this.metadata ? this.#unknownOfMetadata : this.#unknown).push(path);
  }

  #schemaOf(
    name: string,
    schema: SchemaNode | undefined,
    isResource: boolean,
  ): SchemaNode | 'keep' | 'unknown' {
    if (isResource && META_FIELDS.has(name)) return name === 'metadata' ? this.metadata : 'keep';
    return schema?.field(name) ?? (schema?.preserveUnknown === true ? 'keep' : 'unknown');
  }

  #list(list: readonly unknown[], schema: SchemaNode | undefined, path: string): readonly unknown[] {
    const items = schema?.items;
    if (items === undefined && schema?.preserveUnknown === true) return list;
    let changed: unknown[] | undefined;
    list.forEach((item, index) => {
      const kept = this.value(item, items, `${path}[${index}]`);
      if (kept !== item) (changed ??= [...list])[index] = kept;
    });
    return changed ?? list;
  }
}
