import { jsonEquals, type JsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';
import { compare, type Comparison } from './compare.js';
import { FieldSet } from './field-set.js';
import type { Managed, ManagedEntry } from './managed-fields.js';
import { mergeObjects } from './merge.js';
import { removeItems } from './remove-items.js';
import { toFieldSet } from './to-field-set.js';
import { stripped } from './unowned.js';

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
