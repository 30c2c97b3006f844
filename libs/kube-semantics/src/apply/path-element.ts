import { isJsonObject, type JsonObject, parseExactJson } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';

/**
 * One step of a path in the form of `fieldsV1`: `f:name` for a field, `k:{"name":"a"}` for a list item by its
 * keys, `v:"x"` for the item of a set. Two steps are the same when their texts are.
 */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The name of a field's step; undefined for list items. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** An item of a list whose identity cannot be determined. */
export class UnnamedItem extends Error {}

/** The step to an item of a list of type set or map. */
export function itemElement(list: SchemaNode, item: unknown): PathElement {
  return list.listType === 'set' ? setElement(item) : keyedElement(list, item);
}

function setElement(item: unknown): PathElement {
  if (item === null)
    throw new UnnamedItem("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new UnnamedItem('not supported: associative list with lists as elements');
  if (isJsonObject(item))
    throw new UnnamedItem("associative list without keys has an element that's a map type");
  return `v:${JSON.stringify(item)}`;
}

function keyedElement(list: SchemaNode, item: unknown): PathElement {
  if (item === null) throw new UnnamedItem('associative list with keys may not have a null element');
  if (!isJsonObject(item)) throw new UnnamedItem('associative list with keys may not have non-map elements');
  const keys = keysOf(list, item);
  if (Object.keys(keys).length === 0) {
    const names = `[${list.listMapKeys.map((key) => JSON.stringify(key)).join(' ')}]`;
    throw new UnnamedItem(
      `associative list with keys has an element that omits all key fields ${names} (and doesn't have default values for any key fields)`,
    );
  }
  return `k:${JSON.stringify(keys)}`;
}

function keysOf(list: SchemaNode, item: JsonObject): JsonObject {
  const entries = list.listMapKeys.toSorted().flatMap((key) => {
    const value = item[key] ?? list.items?.property(key)?.default;
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(entries) as JsonObject;
}

/** A step as messages show it: `.spec`, `[name="a"]`, `[="x"]`. */
export function printElement(element: PathElement): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('v:')) return `[=${rest}]`;
  if (!element.startsWith('k:')) return `[${rest}]`;
  const keys = parseExactJson(rest) as JsonObject;
  return `[${Object.entries(keys)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

export function printPath(path: readonly PathElement[]): string {
  return path.map(printElement).join('');
}
