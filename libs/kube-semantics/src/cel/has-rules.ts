import type { SchemaNode } from '../schema/schema-node.js';

/** True when a schema has any rule. */
export function hasRules(schema: SchemaNode): boolean {
  if (schema.rules.length > 0) return true;
  const children = [
    ...schema.propertyNames.map((name) => schema.property(name)),
    schema.items,
    schema.additionalProperties,
  ];
  return children.some((child) => child !== undefined && hasRules(child));
}
