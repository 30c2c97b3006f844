import { duplicate, errorsOfEach, type FieldError, invalid } from './field-error.js';
import { isJsonObject, type JsonObject, stableJson } from '#lib/json';
import type { SchemaNode } from './schema-node.js';

/** Lists of type set must not repeat a value, lists of type map not the values of their keys. */
export function validateListTypes(value: unknown, schema: SchemaNode, path = ''): readonly FieldError[] {
  if (Array.isArray(value)) return validateList(value, schema, path);
  if (!isJsonObject(value)) return [];
  return errorsOfEach(Object.entries(value), ([name, item]) => {
    const property = schema.property(name);
    if (property !== undefined)
      return validateListTypes(item, property, path === '' ? name : `${path}.${name}`);
    const additional = schema.additionalProperties;
    return additional === undefined ? [] : validateListTypes(item, additional, `${path}[${name}]`);
  });
}

function validateList(list: readonly unknown[], schema: SchemaNode, path: string): readonly FieldError[] {
  const items = schema.items;
  const inner =
    items === undefined
      ? []
      : errorsOfEach(list, (item, index) => validateListTypes(item, items, `${path}[${index}]`));
  if (schema.listType === 'set') return [...repeated(list, path, (item) => item), ...inner];
  if (schema.listType === 'map') return [...validateMapList(list, schema, path), ...inner];
  return inner;
}

function validateMapList(list: readonly unknown[], schema: SchemaNode, path: string): readonly FieldError[] {
  const stranger = list.findIndex((item) => item !== null && !isJsonObject(item));
  if (stranger >= 0) {
    const detail = 'must be an object for an array of list-type map';
    return [invalid(`${path}[${stranger}]`, list[stranger], detail)];
  }
  return repeated(list, path, (item) => (isJsonObject(item) ? keysOf(item, schema.listMapKeys) : {}));
}

function keysOf(item: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.filter((key) => item[key] !== undefined).map((key) => [key, item[key]]));
}

/** The second appearance of each repeated value. */
function repeated(
  list: readonly unknown[],
  path: string,
  identity: (item: unknown) => unknown,
): readonly FieldError[] {
  const timesOf = new Map<string, number>();
  return errorsOfEach(list, (item, index) => {
    const value = identity(item);
    const text = stableJson(value);
    const times = (timesOf.get(text) ?? 0) + 1;
    timesOf.set(text, times);
    return times === 2 ? [duplicate(`${path}[${index}]`, value)] : [];
  });
}
