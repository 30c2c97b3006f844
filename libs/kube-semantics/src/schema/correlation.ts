import { isJsonObject, jsonEquals } from '#lib/json';
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
  const found = parent.old.find(
    (candidate) =>
      isJsonObject(candidate) && schema.listMapKeys.every((key) => jsonEquals(candidate[key], item[key])),
  );
  return found === undefined ? undefined : { old: found };
}
