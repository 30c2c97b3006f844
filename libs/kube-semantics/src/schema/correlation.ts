import { isJsonObject, type JsonObject, stableJson } from '#lib/json';
import type { SchemaNode } from './schema-node.js';

/** The old value that a new one replaces; undefined where the two cannot be matched. */
export interface Correlated {
  readonly old: unknown;
}

/** Old value of an object's field. */
export function correlatedField(parent: Correlated | undefined, name: string): Correlated | undefined {
  if (parent === undefined || !isJsonObject(parent.old)) return undefined;
  return Object.hasOwn(parent.old, name) ? { old: parent.old[name] } : undefined;
}

/** Old value of a list item: by its keys in lists of type map, else not known. */
export function correlatedItem(
  parent: Correlated | undefined,
  schema: SchemaNode,
  item: unknown,
): Correlated | undefined {
  if (
    parent === undefined ||
    schema.listType !== 'map' ||
    !Array.isArray(parent.old) ||
    !isJsonObject(item)
  ) {
    return undefined;
  }
  const found = itemsByKeys(parent.old, schema).get(keysText(item, schema));
  return found === undefined ? undefined : { old: found };
}

const indexes = new WeakMap<readonly unknown[], ReadonlyMap<string, JsonObject>>();

/** The first item of each combination of keys; stored objects are values, so that an index stays right. */
function itemsByKeys(list: readonly unknown[], schema: SchemaNode): ReadonlyMap<string, JsonObject> {
  const known = indexes.get(list);
  if (known) return known;
  const items = list.filter(isJsonObject).map((item) => [keysText(item, schema), item] as const);
  const made = new Map(items.toReversed());
  indexes.set(list, made);
  return made;
}

function keysText(item: JsonObject, schema: SchemaNode): string {
  return stableJson(schema.listMapKeys.map((key) => item[key] ?? null));
}
