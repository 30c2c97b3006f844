import { isJsonObject, type JsonObject } from '#lib/json';

const MAX_DEPTH = 8;

/** A small value that fits a JSON Schema, for graphs and tools that are called without a person or a model. */
export function valueOf(schema: unknown, root: unknown = schema, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return null;
  const at = (next: unknown): unknown => valueOf(next, root, depth + 1);
  const { $ref: ref, const: only, enum: values, default: fallback } = schema;
  if (typeof ref === 'string') return at(resolved(ref, root));
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  const choices = [schema['anyOf'], schema['oneOf']].find(Array.isArray);
  if (choices) return at(choices.find((one) => !isJsonObject(one) || one['type'] !== 'null'));
  if (Array.isArray(schema['allOf'])) return at(Object.assign({}, ...schema['allOf']));
  const { type = 'properties' in schema ? 'object' : undefined } = schema;
  switch (Array.isArray(type) ? type.find((one) => one !== 'null') : type) {
    case 'object':
      return objectOf(schema, at);
    case 'array':
      return schema['items'] === undefined ? [] : [at(schema['items'])];
    case 'string':
      return stringOf(schema);
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 1;
    case 'boolean':
      return true;
    default:
      return fallback ?? null;
  }
}

function resolved(ref: string, root: unknown): unknown {
  let at = root;
  for (const step of ref.replace(/^#\/?/, '').split('/').filter(Boolean))
    at = isJsonObject(at)
      ? at[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')]
      : undefined;
  return at;
}

function objectOf({ properties }: JsonObject, at: (schema: unknown) => unknown): JsonObject {
  const entries = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(entries.map(([name, one]) => [name, at(one)]));
}

function stringOf({ format, minLength }: JsonObject): string {
  if (format === 'date-time') return '2026-01-02T03:04:05Z';
  if (format === 'date') return '2026-01-02';
  if (format === 'uri') return 'https://example.com/';
  return 'example'.padEnd(typeof minLength === 'number' ? minLength : 0, '.');
}

/** An input of a graph that fits its schema; a person's message where it takes messages. */
export function inputOf(schema: unknown): JsonObject {
  const made = valueOf(isJsonObject(schema) ? { type: 'object', ...schema } : {});
  const input = isJsonObject(made) ? made : {};
  const entries = Object.entries(input).map(([name, value]) => [name, value ?? 'example']);
  const messages = [{ role: 'user', content: 'What is the weather in Rome?' }];
  return {
    ...(Object.fromEntries(entries) as JsonObject),
    ...(Object.hasOwn(input, 'messages') ? { messages } : {}),
  };
}
