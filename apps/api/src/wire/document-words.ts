import { MEMBERS, VALUES } from './words.js';

type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

/** Schemas of the document with the second name of each member, and both words of each value. */
export function withBothWords(schemas: Readonly<Record<string, object>>): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(schemas as Schemas).map(([name, schema]) => [name, withNames(withValues(schema))]),
  );
}

function withNames(schema: Schema): Schema {
  const properties = (schema['properties'] ?? {}) as Schemas;
  const required = (schema['required'] ?? []) as readonly string[];
  const found = MEMBERS.filter(({ ours, vendors }) => ours in properties && !(vendors in properties));
  if (found.length === 0) return schema;
  const others = found.map(({ ours, vendors }) => [
    vendors,
    { ...properties[ours], description: `The same as ${ours}, in the words of LangSmith` },
  ]);
  const alsoRequired = found.filter(({ ours }) => required.includes(ours)).map(({ vendors }) => vendors);
  return {
    ...schema,
    properties: { ...properties, ...(Object.fromEntries(others) as Schemas) },
    ...(required.length > 0 ? { required: [...required, ...alsoRequired] } : {}),
  };
}

function withValues(schema: Schema): Schema {
  const properties = Object.entries((schema['properties'] ?? {}) as Schemas);
  if (properties.length === 0) return schema;
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([member, value]) => [member, withWords(member, value)])),
  };
}

/** A member of another object may have the same name: only one that takes our words has the others. */
function withWords(member: string, schema: Schema): Schema {
  const choices = schema['enum'];
  const words = VALUES.find((row) => row.member === member)?.words ?? [];
  if (!Array.isArray(choices) || !words.every(([ours]) => choices.includes(ours))) return schema;
  const more = words.map(([, vendors]) => vendors).filter((word) => !choices.includes(word));
  const given = choices.filter((choice) => choice !== null) as unknown[];
  return { ...schema, enum: [...given, ...more, ...(choices.includes(null) ? [null] : [])] };
}
