import { isJsonObject, type JsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { itemElement, type PathElement } from './path-element.js';
import { isEmptyOrAbsent, shapeOf } from './shape.js';

/** Lays a configuration over an object: its leaves win, everything else of the object stays. */
export function mergeObjects<T extends JsonObject>(live: T, applied: JsonObject, schema: SchemaNode): T {
  return mergeValues(live, applied, schema) as T;
}

function mergeValues(live: unknown, applied: unknown, schema: SchemaNode | undefined): unknown {
  const shape = shapeOf(schema, applied, live);
  const isMixed = !isEmptyOrAbsent(live) && !isEmptyOrAbsent(applied) && shapeOf(schema, live) !== shape;
  if (shape === 'leaf' || isMixed || (isEmptyOrAbsent(live) && isEmptyOrAbsent(applied))) {
    return applied === undefined ? live : applied;
  }
  if (shape === 'map')
    return mergeMaps(isJsonObject(live) ? live : {}, isJsonObject(applied) ? applied : {}, schema);
  if (schema === undefined) return applied;
  return mergeLists(Array.isArray(live) ? live : [], Array.isArray(applied) ? applied : [], schema);
}

function mergeMaps(live: JsonObject, applied: JsonObject, schema: SchemaNode | undefined): JsonObject {
  const names = new Set([...Object.keys(live), ...Object.keys(applied)]);
  return Object.fromEntries(
    [...names].map((name) => [name, mergeValues(own(live, name), own(applied, name), schema?.field(name))]),
  );
}

interface Item {
  readonly element: PathElement;
  readonly value: unknown;
}

/**
 * The applied items keep the order they were applied in; items that are only in the object stay after the item they
 * stood behind.
 */
function mergeLists(
  live: readonly unknown[],
  applied: readonly unknown[],
  schema: SchemaNode,
): readonly unknown[] {
  const left = live.map((value) => ({ element: itemElement(schema, value), value }));
  const right = applied.map((value) => ({ element: itemElement(schema, value), value }));
  const before = index(left);
  const after = index(right);
  const shared = right.filter((item) => before.has(item.element)).map((item) => item.element);
  let nextShared = 0;
  const out: unknown[] = [];
  const done = new Set<PathElement>();
  const take = (item: Item): void => {
    done.add(item.element);
    const old = before.get(item.element);
    out.push(mergeValues(old, after.get(item.element) ?? item.value, schema.items));
    if (shared[nextShared] === item.element) nextShared++;
  };
  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const old = left[l];
    const next = right[r];
    if (old !== undefined && next !== undefined) {
      if (old.element === next.element) {
        take(next);
        l += 1;
        r += 1;
        continue;
      }
      const awaited = shared[nextShared];
      if (after.has(old.element) && awaited !== undefined && awaited !== old.element) {
        l += 1;
        continue;
      }
    }
    if (old !== undefined && !after.has(old.element)) {
      out.push(old.value);
      l += 1;
      continue;
    }
    if (old !== undefined && done.has(old.element)) l += 1;
    if (next !== undefined) {
      take(next);
      r += 1;
    }
  }
  return out;
}

/** Items by their step; duplicates are not merged into. */
function index(items: readonly Item[]): ReadonlyMap<PathElement, unknown> {
  const out = new Map<PathElement, unknown>();
  for (const item of items) out.set(item.element, out.has(item.element) ? null : item.value);
  return out;
}
