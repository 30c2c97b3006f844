import { errorsOfEach } from '../schema/errors-of-each.js';
import { isJsonObject } from '#lib/json';
import type { CompiledSchema } from '../schema/compiled-schema.js';
import { applyDefaults } from '../schema/defaults.js';
import { type FieldError, typeInvalid } from '../schema/field-error.js';
import { withoutIdleNulls } from '../schema/idle-nulls.js';
import { prune } from '../schema/prune.js';
import type { SchemaNode } from '../schema/schema-node.js';
import { typeOf } from '../schema/validate-value.js';

/**
 * The schema of a built-in kind. Its validation looks at types only: which fields must be there and what they may say
 * is checked by each kind's own rules, as in Kubernetes.
 */
export function compileBuiltin(root: SchemaNode, metadata: SchemaNode): CompiledSchema {
  return {
    root,
    isBuiltin: true,
    prune: (object) => prune(object, root, metadata),
    applyDefaults: (object) => applyDefaults(withoutIdleNulls(object, root), root),
    validate: (object) => typeErrors(object, root, ''),
  };
}

function typeErrors(value: unknown, schema: SchemaNode, path: string): readonly FieldError[] {
  if (value === null || value === undefined) return [];
  const actual = typeOf(value);
  if (!fits(schema, actual)) {
    const wanted = schema.type === '' ? 'integer,string' : schema.type;
    return [typeInvalid(path, value, `${path} in body must be of type ${wanted}: ${JSON.stringify(actual)}`)];
  }
  if (Array.isArray(value)) {
    const items = schema.items;
    return items === undefined
      ? []
      : errorsOfEach<unknown>(value, (item, index) => typeErrors(item, items, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [];
  return errorsOfEach(Object.entries(value), ([name, item]) => {
    const field = schema.field(name);
    return field === undefined ? [] : typeErrors(item, field, path === '' ? name : `${path}.${name}`);
  });
}

function fits(schema: SchemaNode, actual: string): boolean {
  const branches = schema.branches('oneOf');
  if (branches.length > 0) return branches.some((branch) => fits(branch, actual));
  return schema.type === '' || schema.type === actual || (schema.type === 'number' && actual === 'integer');
}
