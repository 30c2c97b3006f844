import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { own } from '../object/reading.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { type FieldSet, FieldSetBuilder, type Path } from './field-set.js';
import { fieldElement, itemElement, type PathElement } from './path-element.js';
import { isEmptyOrAbsent, shapeOf } from './shape.js';

/** What differs between two objects. */
export interface Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;
}

/** Compares field by field; nulls count as there. */
export function compare(left: JsonObject, right: JsonObject, schema: SchemaNode): Comparison {
  const walk = new ComparingWalk();
  walk.visit({ left, right, schema, path: [] });
  return { added: walk.added.build(), removed: walk.removed.build(), modified: walk.modified.build() };
}

interface Place {
  /** Undefined when there is nothing on this side. */
  readonly left: unknown;
  readonly right: unknown;
  readonly schema: SchemaNode | undefined;
  readonly path: Path;
}

class ComparingWalk {
  readonly added = new FieldSetBuilder();
  readonly removed = new FieldSetBuilder();
  readonly modified = new FieldSetBuilder();

  visit(place: Place): void {
    const { left, right, schema, path } = place;
    const shape = shapeOf(schema, right, left);
    const isMixed = !isEmptyOrAbsent(left) && !isEmptyOrAbsent(right) && shapeOf(schema, left) !== shape;
    if (shape === 'leaf' || isMixed || (isEmptyOrAbsent(left) && isEmptyOrAbsent(right))) {
      this.#leaf(place);
      return;
    }
    if (shape === 'map') this.#map(place);
    else if (schema !== undefined) this.#list(place, schema);
    if (left === undefined) this.added.insert(path);
    else if (right === undefined) this.removed.insert(path);
  }

  #leaf({ left, right, path }: Place): void {
    if (left === undefined) this.added.insert(path);
    else if (right === undefined) this.removed.insert(path);
    else if (!jsonEquals(left, right)) this.modified.insert(path);
  }

  #map({ left: old, right: next, schema, path }: Place): void {
    const before = isJsonObject(old) ? old : {};
    const after = isJsonObject(next) ? next : {};
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const left = own(before, name);
      const right = own(after, name);
      if (left === undefined && right === undefined) continue;
      this.visit({
        left,
        right,
        schema: schema?.field(name),
        path: [...path, fieldElement(name)],
      });
    }
  }

  #list({ left, right, path }: Place, schema: SchemaNode): void {
    const before = byElement(schema, left);
    const after = byElement(schema, right);
    for (const element of new Set([...before.keys(), ...after.keys()])) {
      const at = [...path, element];
      const olds = before.get(element) ?? [];
      const news = after.get(element) ?? [];
      if (olds.length <= 1 && news.length <= 1) {
        this.visit({ left: olds[0], right: news[0], schema: schema.items, path: at });
      } else this.#repeated(olds, news, schema.items, at);
    }
  }

  /** Repeated items are compared as a whole. */
  #repeated(
    olds: readonly unknown[],
    news: readonly unknown[],
    schema: SchemaNode | undefined,
    path: Path,
  ): void {
    if (olds.length > 1 && news.length > 1) {
      if (!jsonEquals(olds, news)) this.modified.insert(path);
    } else if (olds.length > 1) {
      if (news.length > 0) this.visit({ left: undefined, right: news[0], schema, path });
      this.removed.insert(path);
    } else {
      if (olds.length > 0) this.visit({ left: olds[0], right: undefined, schema, path });
      this.added.insert(path);
    }
  }
}

function byElement(schema: SchemaNode, list: unknown): ReadonlyMap<PathElement, readonly unknown[]> {
  const items = Array.isArray(list) ? list : [];
  return Map.groupBy(items, (item) => itemElement(schema, item));
}
