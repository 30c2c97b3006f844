import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { fieldElement, type FieldSet, FieldSetBuilder, itemElement, type PathElement } from './field-set.js';
import { isEmptyOrAbsent, shapeOf } from './to-field-set.js';

/** Differences between two objects. */
export interface Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;
}

/** Compares field by field; nulls count as there. */
export function compare(left: JsonObject, right: JsonObject, schema: SchemaNode): Comparison {
  const found = {
    added: new FieldSetBuilder(),
    removed: new FieldSetBuilder(),
    modified: new FieldSetBuilder(),
  };
  visit({ left, right, schema, at: new Spot(found) });
  return { added: found.added.build(), removed: found.removed.build(), modified: found.modified.build() };
}

type Kind = keyof Comparison;

/** A place in the sets that are collected. Most places differ in nothing, and are made in none of them. */
class Spot {
  readonly #builders: Partial<Record<Kind, FieldSetBuilder>>;
  readonly #parent: Spot | undefined;
  readonly #element: PathElement;

  constructor(builders: Partial<Record<Kind, FieldSetBuilder>>, parent?: Spot, element: PathElement = '') {
    this.#builders = builders;
    this.#parent = parent;
    this.#element = element;
  }

  below(element: PathElement): Spot {
    return new Spot({}, this, element);
  }

  note(kind: Kind): void {
    this.#builder(kind)?.add();
  }

  #builder(kind: Kind): FieldSetBuilder | undefined {
    const [known, parent] = [this.#builders[kind], this.#parent];
    if (known !== undefined || parent === undefined) return known;
    return (this.#builders[kind] = parent.#builder(kind)?.below(this.#element));
  }
}

interface Place {
  /** Undefined when there is nothing on this side. */
  readonly left: unknown;
  readonly right: unknown;
  readonly schema: SchemaNode | undefined;
  readonly at: Spot;
}

function visit(place: Place): void {
  const { left, right, schema, at } = place;
  const shape = shapeOf(schema, right, left);
  const isMixed = !isEmptyOrAbsent(left) && !isEmptyOrAbsent(right) && shapeOf(schema, left) !== shape;
  if (shape === 'leaf' || isMixed || (isEmptyOrAbsent(left) && isEmptyOrAbsent(right)))
    return visitLeaf(place);
  if (shape === 'map') visitMap(place);
  else if (schema !== undefined) visitList(place, schema);
  if (left === undefined) at.note('added');
  else if (right === undefined) at.note('removed');
}

function visitLeaf({ left, right, at }: Place): void {
  if (left === undefined) at.note('added');
  else if (right === undefined) at.note('removed');
  else if (!jsonEquals(left, right)) at.note('modified');
}

function visitMap({ left: old, right: next, schema, at }: Place): void {
  const before = isJsonObject(old) ? old : {};
  const after = isJsonObject(next) ? next : {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const left = own(before, name);
    const right = own(after, name);
    if (left === undefined && right === undefined) continue;
    visit({ left, right, schema: schema?.field(name), at: at.below(fieldElement(name)) });
  }
}

function visitList({ left, right, at }: Place, schema: SchemaNode): void {
  const before = byElement(schema, left);
  const after = byElement(schema, right);
  for (const element of new Set([...before.keys(), ...after.keys()])) {
    const spot = at.below(element);
    const olds = before.get(element) ?? [];
    const news = after.get(element) ?? [];
    if (olds.length <= 1 && news.length <= 1) {
      visit({ left: olds[0], right: news[0], schema: schema.items, at: spot });
    } else visitRepeated(olds, news, schema.items, spot);
  }
}

/** Repeated items are compared as a whole. */
function visitRepeated(
  olds: readonly unknown[],
  news: readonly unknown[],
  schema: SchemaNode | undefined,
  at: Spot,
): void {
  if (olds.length > 1 && news.length > 1) {
    if (!jsonEquals(olds, news)) at.note('modified');
  } else if (olds.length > 1) {
    if (news.length > 0) visit({ left: undefined, right: news[0], schema, at });
    at.note('removed');
  } else {
    if (olds.length > 0) visit({ left: olds[0], right: undefined, schema, at });
    at.note('added');
  }
}

function byElement(schema: SchemaNode, list: unknown): ReadonlyMap<PathElement, readonly unknown[]> {
  const items = Array.isArray(list) ? list : [];
  return Map.groupBy(items, (item) => itemElement(schema, item));
}
