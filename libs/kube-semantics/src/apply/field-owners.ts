import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { compare, type Comparison } from './compare.js';
import { fieldElement, FieldSet, itemElement, type PathElement } from './field-set.js';
import type { Managed, ManagedEntry } from './managed-fields.js';
import { isEmptyOrAbsent, shapeOf, toFieldSet } from './to-field-set.js';

/** Lays a configuration over an object: its leaves win, everything else of the object stays. */
function mergeObjects<T extends JsonObject>(live: T, applied: JsonObject, schema: SchemaNode): T {
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

/** The object without the fields and items of a set. Maps and lists that become empty go too. */
function removeItems<T extends JsonObject>(object: T, set: FieldSet, schema: SchemaNode): T {
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

const META = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];

/** Fields without an owner. */
const stripped = FieldSet.fromPaths([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...META.map((name) => ['f:metadata', `f:${name}`]),
]);

/**
 * Fields that a write does not change whatever it says, so that it does not own them: the status on the object
 * itself, the spec on its status.
 */
export function resetFields(
  subresource: string,
  schema: SchemaNode,
  hasStatus: boolean | undefined,
): FieldSet {
  const separate = hasStatus ?? schema.property('status') !== undefined;
  if (subresource === 'status') return FieldSet.fromPaths([['f:spec']]);
  return separate && subresource === '' ? FieldSet.fromPaths([['f:status']]) : FieldSet.EMPTY;
}

/** A write as the owners of fields see it. */
export interface Write {
  readonly live: JsonObject;
  readonly schema: SchemaNode;
  readonly managed: Managed;
  /** Identity of the writer among the managed entries. */
  readonly id: string;
  /** The writer's entry without its set. */
  readonly writer: Omit<ManagedEntry, 'set'>;
  /** Fields that this kind of write cannot change. */
  readonly reset: FieldSet;
}

/** Fields per entry that it owns and that the write changes. */
export type Conflicts = ReadonlyMap<string, FieldSet>;

/** Ownership after any write but apply: what it changed is its own, and others lose it. */
export function ownUpdate(write: Write, next: JsonObject): Managed {
  const comparison = excluding(compare(write.live, next, write.schema), write.reset);
  const self = 'current-operation';
  const managed = new Map(release(write.managed, comparison, self));
  const changed = comparison.modified
    .union(comparison.added)
    .recursiveDifference(write.reset)
    .difference(stripped);
  if (changed.isEmpty) return managed;
  const before = managed.get(write.id)?.set ?? FieldSet.EMPTY;
  return managed.set(write.id, { ...write.writer, set: before.union(changed) });
}

/** Changed fields that others own. */
function conflictsOf(managed: Managed, comparison: Comparison, self: string): Conflicts {
  const changed = comparison.modified.union(comparison.added);
  const found = new Map<string, FieldSet>();
  for (const [id, entry] of managed) {
    const set = entry.set.intersection(changed);
    if (id !== self && !set.isEmpty) found.set(id, set);
  }
  return found;
}

/** Others lose what changed or went away. */
function release(managed: Managed, comparison: Comparison, self: string): Managed {
  const changed = comparison.modified.union(comparison.added).union(comparison.removed);
  const left = new Map<string, ManagedEntry>();
  for (const [id, entry] of managed) {
    const set = id === self ? entry.set : entry.set.difference(changed);
    if (!set.isEmpty) left.set(id, set === entry.set ? entry : { ...entry, set });
  }
  return left;
}

function excluding(comparison: Comparison, reset: FieldSet): Comparison {
  return {
    added: comparison.added.recursiveDifference(reset),
    removed: comparison.removed.recursiveDifference(reset),
    modified: comparison.modified.recursiveDifference(reset),
  };
}

export type OwnedApply =
  | { readonly kind: 'conflict'; readonly conflicts: Conflicts }
  /** `object` is the live one when nothing in it changed. */
  | {
      readonly kind: 'applied';
      readonly object: JsonObject;
      readonly managed: Managed;
      readonly changed: boolean;
    };

/** Merges an applied configuration and settles who owns what. */
export function ownApply(write: Write, applied: JsonObject, force: boolean): OwnedApply {
  const last = write.managed.get(write.id);
  const set = toFieldSet(applied, write.schema).recursiveDifference(write.reset);
  const managed = new Map(write.managed).set(write.id, { ...write.writer, set });
  const merged = mergeObjects(write.live, applied, write.schema);
  const object = last === undefined ? merged : pruneDropped(merged, last.set, managed, write.schema);
  const comparison = excluding(compare(write.live, object, write.schema), write.reset);
  const conflicts = conflictsOf(managed, comparison, write.id);
  if (!force && conflicts.size > 0) return { kind: 'conflict', conflicts };
  const owned = new Map(release(managed, comparison, write.id));
  const own = owned.get(write.id);
  const kept = own?.set.difference(stripped);
  if (own === undefined || kept === undefined || kept.isEmpty) owned.delete(write.id);
  else owned.set(write.id, { ...own, set: kept });
  const changed = !jsonEquals(write.live, object);
  return { kind: 'applied', object: changed ? object : write.live, managed: owned, changed };
}

/** Removes fields that the applier applied last time, omits this time and owns alone. */
function pruneDropped(merged: JsonObject, last: FieldSet, managed: Managed, schema: SchemaNode): JsonObject {
  const named = (set: FieldSet): FieldSet => set.withNamedFields(schema);
  const everything = named(toFieldSet(merged, schema));
  const withoutLast = named(toFieldSet(removeItems(merged, named(last), schema), schema));
  const owned = FieldSet.unionOf([...managed.values()].map((entry) => entry.set));
  const withOwned = removeItems(merged, everything.difference(withoutLast.union(named(owned))), schema);
  const left = named(toFieldSet(withOwned, schema));
  return removeItems(merged, everything.difference(left).intersection(named(last)), schema);
}
