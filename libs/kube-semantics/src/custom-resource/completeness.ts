import { isJsonObject, type JsonObject } from '#lib/json';
import { type FieldError, required } from '../schema/field-error.js';

/** Fields that junctors speak of without the structure declaring them. */
export function undeclared(schema: JsonObject, path: string): readonly FieldError[] {
  return [...compare(schema, schema, path, path), ...inner(schema, path)];
}

/** The same inside the declared fields. */
function inner(schema: JsonObject, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, property] of entries(schema, 'properties')) {
    errors.push(...undeclared(property, `${path}.properties[${name}]`));
  }
  for (const keyword of ['items', 'additionalProperties']) {
    const child = schema[keyword];
    if (isJsonObject(child)) errors.push(...undeclared(child, `${path}.${keyword}`));
  }
  return errors;
}

function compare(structure: JsonObject, said: JsonObject, path: string, from: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const junctor of ['allOf', 'anyOf', 'oneOf']) {
    const branches = said[junctor];
    if (!Array.isArray(branches)) continue;
    branches.forEach((branch: unknown, index) => {
      if (isJsonObject(branch))
        errors.push(...compareBranch(structure, branch, path, `${from}.${junctor}[${index}]`));
    });
  }
  if (isJsonObject(said['not'])) errors.push(...compareBranch(structure, said['not'], path, `${from}.not`));
  return errors;
}

function compareBranch(
  structure: JsonObject,
  branch: JsonObject,
  path: string,
  from: string,
): readonly FieldError[] {
  const errors = [...compare(structure, branch, path, from)];
  const declared = isJsonObject(structure['properties']) ? structure['properties'] : {};
  for (const [name, property] of entries(branch, 'properties')) {
    const own = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const at = `${path}.properties[${name}]`;
    if (!isJsonObject(own)) errors.push(required(at, `because it is defined in ${from}.properties[${name}]`));
    else errors.push(...compareBranch(own, property, at, `${from}.properties[${name}]`));
  }
  const items = branch['items'];
  if (isJsonObject(items)) {
    const own = structure['items'];
    if (!isJsonObject(own)) errors.push(required(`${path}.items`, `because it is defined in ${from}.items`));
    else errors.push(...compareBranch(own, items, `${path}.items`, `${from}.items`));
  }
  return errors;
}

function entries(schema: JsonObject, keyword: string): readonly (readonly [string, JsonObject])[] {
  const found = schema[keyword];
  if (!isJsonObject(found)) return [];
  return Object.entries(found).flatMap(([name, value]) =>
    isJsonObject(value) ? [[name, value] as const] : [],
  );
}
