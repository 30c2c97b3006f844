import { isErrorType, SymbolFlags, TypeFlags } from 'typescript-native/unstable/sync';
import type { Checker, Symbol as TypeSymbol, Type } from 'typescript-native/unstable/sync';
import { isJsonObject, type JsonObject } from '#lib/json';
import { MESSAGE_DEFINITIONS, MESSAGE_REF } from './message-definitions.js';

/** Depth at which a type is described no further, and a value of it may be anything. */
const MAX_DEPTH = 6;

/** Limit per graph: a schema is read by people and models. */
const MAX_PARTS = 4_000;

/** Classes of the language and of Node whose members are no data. */
const CLASSES: Readonly<Record<string, JsonObject>> = {
  Date: { type: 'string', format: 'date-time' },
  RegExp: { type: 'string' },
  URL: { type: 'string' },
  Map: { type: 'object' },
  ReadonlyMap: { type: 'object' },
  Set: { type: 'array' },
  ReadonlySet: { type: 'array' },
  Uint8Array: {},
  Buffer: {},
  Promise: {},
};

const SIMPLE: readonly (readonly [TypeFlags, string])[] = [
  [TypeFlags.StringLike | TypeFlags.TemplateLiteral | TypeFlags.StringMapping, 'string'],
  [TypeFlags.NumberLike | TypeFlags.BigIntLike, 'number'],
  [TypeFlags.BooleanLike, 'boolean'],
  [TypeFlags.Null, 'null'],
  [TypeFlags.NonPrimitive, 'object'],
];

/** Values that JSON does not have. */
const NO_DATA = TypeFlags.Undefined | TypeFlags.Void | TypeFlags.Never | TypeFlags.ESSymbolLike;

/** The library's instruction that replaces a channel's value, which every update may be. */
const OVERWRITE = '__overwrite__';

/** JSON Schemas of types, as the graph servers of LangGraph for JavaScript answer them: fields are never required. */
export class TypeSchemas {
  #left = MAX_PARTS;
  #hasMessages = false;
  /** Names of fields whose types the compiler could not find. */
  readonly unresolved = new Set<string>();

  constructor(private readonly checker: Checker) {}

  /** Schema of an object with these fields, which stands alone. */
  rootOf(fields: ReadonlyMap<string, Type>, docs: ReadonlyMap<string, string> = new Map()): JsonObject {
    this.#left = MAX_PARTS;
    this.#hasMessages = false;
    const properties: Record<string, JsonObject> = {};
    for (const [name, type] of fields) {
      if (isErrorType(type)) this.unresolved.add(name);
      const schema = this.#of(type, [], 0);
      const description = docs.get(name);
      if (schema) properties[name] = description === undefined ? schema : { ...schema, description };
    }
    return {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(this.#hasMessages ? { definitions: MESSAGE_DEFINITIONS } : {}),
    };
  }

  /** @returns undefined for values that JSON does not have */
  #of(type: Type, above: readonly number[], depth: number): JsonObject | undefined {
    const { flags } = type;
    if (flags & NO_DATA) return undefined;
    if (type.isLiteralType()) return literalsOf([type.value]);
    if (type.isUnionType() && !(flags & TypeFlags.Boolean))
      return this.#ofUnion(type.getTypes(), above, depth);
    const simple = SIMPLE.find(([mask]) => flags & mask);
    if (simple) return { type: simple[1] };
    if (this.#left-- <= 0 || depth > MAX_DEPTH || above.includes(type.id)) return {};
    if (type.isIntersectionType()) {
      const plain = type.getTypes().find((one) => SIMPLE.some(([mask]) => one.flags & mask));
      if (plain) return this.#of(plain, above, depth);
    }
    if (flags & (TypeFlags.Object | TypeFlags.Intersection))
      return this.#ofObject(type, [...above, type.id], depth);
    return {};
  }

  #ofUnion(types: readonly Type[], above: readonly number[], depth: number): JsonObject | undefined {
    const given = types.filter((one) => !(one.flags & NO_DATA) && !this.#has(one, OVERWRITE));
    if (given.some((one) => this.#isMessages(one))) return this.#messages();
    if (given.some((one) => this.#isMessage(one))) return this.#message();
    const literals = given.flatMap((one) =>
      one.isLiteralType() && !one.isBooleanLiteralType() ? [one.value] : [],
    );
    const booleans = given.filter((one) => one.isBooleanLiteralType());
    const others = given.filter((one) => !one.isLiteralType());
    const schemas = [
      ...(literals.length > 0 ? [literalsOf(literals)] : []),
      ...(booleans.length > 1 ? [{ type: 'boolean' }] : booleans.map(({ value }) => literalsOf([value]))),
      ...others.map((one) => this.#of(one, above, depth)).filter((one) => one !== undefined),
    ];
    return joined(schemas);
  }

  #ofObject(type: Type, above: readonly number[], depth: number): JsonObject | undefined {
    const { checker } = this;
    if (this.#isMessages(type)) return this.#messages();
    if (this.#isMessage(type)) return this.#message();
    if (checker.isTupleType(type) && type.isTypeReference()) {
      const items = checker.getTypeArguments(type).map((one) => this.#of(one, above, depth + 1) ?? {});
      return { type: 'array', items: joined(items) ?? {} };
    }
    const item = this.#itemOf(type);
    if (item) return { type: 'array', items: this.#of(item, above, depth + 1) ?? {} };
    const known = CLASSES[type.getSymbol()?.name ?? ''];
    if (known) return known;
    if (checker.getSignaturesOfType(type, 0).length > 0) return undefined; // a function
    const properties: Record<string, JsonObject> = {};
    for (const member of checker.getPropertiesOfType(type)) {
      const schema = this.#ofMember(member, above, depth);
      if (schema) properties[member.name] = schema;
    }
    const [index] = checker.getIndexInfosOfType(type);
    const values = index && (this.#of(index.valueType, above, depth + 1) ?? {});
    return {
      type: 'object',
      ...(Object.keys(properties).length > 0 ? { properties } : {}),
      ...(values ? { additionalProperties: values } : {}),
    };
  }

  #ofMember(member: TypeSymbol, above: readonly number[], depth: number): JsonObject | undefined {
    // members whose names are symbols, and methods of classes
    if (member.name.startsWith('__@') || member.flags & SymbolFlags.Method) return undefined;
    const type = this.checker.getTypeOfSymbol(member);
    const schema = type && this.#of(type, above, depth + 1);
    const description = schema && this.checker.getDocumentationCommentOfSymbol(member);
    return description ? { ...schema, description } : schema;
  }

  #itemOf(type: Type): Type | undefined {
    if (!this.checker.isArrayType(type) || !type.isTypeReference()) return undefined;
    return this.checker.getTypeArguments(type)[0];
  }

  /** True for lists that may hold messages, also beside what the library makes messages of. */
  #isMessages(type: Type): boolean {
    const item = type.flags & TypeFlags.Object ? this.#itemOf(type) : undefined;
    if (!item) return false;
    return item.isUnionType() ? item.getTypes().some((one) => this.#isMessage(one)) : this.#isMessage(item);
  }

  /** True for the classes of messages of any release of LangChain. */
  #isMessage(type: Type): boolean {
    if (!(type.flags & TypeFlags.Object)) return false;
    return ['_getType', 'lc_namespace', 'content'].every((name) => this.#has(type, name));
  }

  #has(type: Type, name: string): boolean {
    return (type.flags & TypeFlags.Object) !== 0 && this.checker.getPropertyOfType(type, name) !== undefined;
  }

  #messages(): JsonObject {
    return { type: 'array', items: this.#message(), langgraph_type: 'messages' };
  }

  #message(): JsonObject {
    this.#hasMessages = true;
    return { $ref: MESSAGE_REF };
  }
}

function literalsOf(values: readonly (string | number | boolean | bigint)[]): JsonObject {
  const plain = values.map((value) => (typeof value === 'bigint' ? Number(value) : value));
  const types = [...new Set(plain.map((value) => typeof value))];
  return { type: types.length === 1 ? types[0] : types, enum: plain };
}

/** One schema for any of them; kinds of plain values are named together. */
function joined(schemas: readonly JsonObject[]): JsonObject | undefined {
  const distinct = [...new Map(schemas.map((one) => [JSON.stringify(one), one])).values()];
  if (distinct.some((one) => Object.keys(one).length === 0)) return {};
  const isPlain = (one: JsonObject): boolean =>
    Object.keys(one).join() === 'type' && typeof one['type'] === 'string';
  const types = distinct.filter(isPlain).map((one) => one['type']);
  const all = [
    ...(types.length > 1 ? [{ type: types }] : distinct.filter(isPlain)),
    ...distinct.filter((one) => isJsonObject(one) && !isPlain(one)),
  ];
  return all.length > 1 ? { anyOf: all } : all[0];
}
