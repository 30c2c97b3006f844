import { isJsonObject, type JsonObject } from '#lib/json';
import type { SchemaNode } from '../schema/schema-node.js';
import { type FieldSet, FieldSetBuilder } from './field-set.js';
import { fieldElement, itemElement } from './path-element.js';
import { shapeOf } from './shape.js';

/** Every field that an object states. */
export function toFieldSet(object: JsonObject, schema: SchemaNode): FieldSet {
  const builder = new FieldSetBuilder();
  visit(object, schema, builder);
  return builder.build();
}

function visit(value: unknown, schema: SchemaNode | undefined, out: FieldSetBuilder): void {
  switch (shapeOf(schema, value)) {
    case 'leaf':
      return out.add();
    case 'map':
      return isJsonObject(value) ? visitMap(value, schema, out) : undefined;
    case 'list':
      return Array.isArray(value) && schema !== undefined ? visitList(value, schema, out) : undefined;
  }
}

function visitMap(object: JsonObject, schema: SchemaNode | undefined, out: FieldSetBuilder): void {
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const at = out.below(fieldElement(name));
    visit(value, schema?.field(name), at);
    const isEmptyMap = isJsonObject(value) && Object.keys(value).length === 0;
    if (value === null || isEmptyMap || schema?.property(name) === undefined) at.add();
  }
}

function visitList(list: readonly unknown[], schema: SchemaNode, out: FieldSetBuilder): void {
  for (const [element, items] of Map.groupBy(list, (item) => itemElement(schema, item))) {
    const at = out.below(element);
    if (items.length === 1) visit(items[0], schema.items, at);
    at.add();
  }
}
