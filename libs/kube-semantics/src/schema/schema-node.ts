import { isJsonObject, type JsonObject, stableJson } from '#lib/json';
import type { FieldError } from './field-error.js';

/** The old value that a new one replaces; undefined where the two cannot be matched. */
export interface Correlated {
  readonly old: unknown;
}

/** Old value of an object's field. */
export function correlatedField(parent: Correlated | undefined, name: string): Correlated | undefined {
  if (parent === undefined || !isJsonObject(parent.old)) return undefined;
  return Object.hasOwn(parent.old, name) ? { old: parent.old[name] } : undefined;
}

/** Old value of a list item: by its keys in lists of type map, else not known. */
export function correlatedItem(
  parent: Correlated | undefined,
  schema: SchemaNode,
  item: unknown,
): Correlated | undefined {
  if (
    parent === undefined ||
    schema.listType !== 'map' ||
    !Array.isArray(parent.old) ||
    !isJsonObject(item)
  ) {
    return undefined;
  }
  const found = itemsByKeys(parent.old, schema).get(keysText(item, schema));
  return found === undefined ? undefined : { old: found };
}

const indexes = new WeakMap<readonly unknown[], ReadonlyMap<string, JsonObject>>();

/** The first item of each combination of keys; stored objects are values, so that an index stays right. */
function itemsByKeys(list: readonly unknown[], schema: SchemaNode): ReadonlyMap<string, JsonObject> {
  const known = indexes.get(list);
  if (known) return known;
  const items = list.filter(isJsonObject).map((item) => [keysText(item, schema), item] as const);
  const made = new Map(items.toReversed());
  indexes.set(list, made);
  return made;
}

function keysText(item: JsonObject, schema: SchemaNode): string {
  return stableJson(schema.listMapKeys.map((key) => item[key] ?? null));
}

/** Result of `prune`. */
export interface Pruned<T> {
  /** The object without what the schema does not know. The same value when nothing had to go. */
  readonly object: T;
  /** Dropped fields as strict decoding names them, for example `spec.foo`, `spec.items[0].bar`. */
  readonly unknownFields: readonly string[];
}

export interface ValidateOptions {
  /** Validation of a write to this subresource: rules still see the whole object. */
  readonly subresource?: string;
}

/**
 * A schema ready for use: for a version of a CustomResourceDefinition or for a built-in kind. All methods are pure;
 * what they return may share parts with what they were given.
 */
export interface CompiledSchema {
  readonly root: SchemaNode;
  /** True for a built-in kind, whose objects have the shape of Kubernetes' Go types. */
  readonly isBuiltin: boolean;
  /**
   * Drops unknown fields (those inside `x-kubernetes-preserve-unknown-fields` stay) and nulls that mean nothing. For
   * every body that is no apply configuration.
   */
  prune<T extends JsonObject>(object: T): Pruned<T>;
  /** Fills in defaults of fields that are absent, or null without being nullable. */
  applyDefaults<T extends JsonObject>(object: T): T;
  /**
   * Types, bounds, list types and CEL rules. With `oldObject` transition rules run, and what was wrong before and did
   * not change is let through (ratcheting). Not metadata: see `validateObjectMeta`.
   */
  validate(object: JsonObject, oldObject?: JsonObject, options?: ValidateOptions): readonly FieldError[];
}

/** Finds the schema that a `$ref` names. */
export type Definitions = (name: string) => SchemaNode | undefined;

/** A declared field. */
export interface NamedNode {
  readonly name: string;
  readonly node: SchemaNode;
}

const NO_DEFINITIONS: Definitions = () => undefined;
const KEEP_ALL: JsonObject = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true };

/**
 * One place in a schema, read from its JSON on demand: children are made when first asked for, so that schemas that
 * contain themselves (through `$ref`) cost only what is used of them.
 */
export class SchemaNode {
  /** The JSON schema at this place, with its `$ref` resolved. */
  readonly source: JsonObject;
  /** `object`, `array`, `string`, `integer`, `number`, `boolean`, or '' for anything. */
  readonly type: string;
  readonly nullable: boolean;
  readonly preserveUnknown: boolean;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: string | undefined;
  /** Default value; undefined without one. */
  readonly default: unknown;
  /**
   * Value that Kubernetes writes when a field of a built-in kind is not set: `{}`, null, 0 …; undefined:
   * nothing.
   */
  readonly zero: unknown;
  readonly #definitions: Definitions;
  readonly #propertySources: JsonObject;
  readonly #properties = new Map<string, SchemaNode>();
  readonly #children = new Map<string, SchemaNode>();
  #names: readonly string[] | undefined;
  /** Null until it is asked for: once for each entry of a map. */
  #additional: SchemaNode | undefined | null = null;
  #defaulted: readonly NamedNode[] | undefined;
  #zeros: readonly NamedNode[] | undefined;

  constructor(source: JsonObject, definitions: Definitions = NO_DEFINITIONS) {
    const resolved = resolve(source, definitions);
    this.source = resolved;
    this.type = text(resolved, 'type') ?? '';
    this.nullable = resolved['nullable'] === true;
    this.preserveUnknown = resolved['x-kubernetes-preserve-unknown-fields'] === true;
    this.embeddedResource = resolved['x-kubernetes-embedded-resource'] === true;
    this.intOrString =
      resolved['x-kubernetes-int-or-string'] === true || resolved['format'] === 'int-or-string';
    this.listType = text(resolved, 'x-kubernetes-list-type');
    this.listMapKeys = texts(resolved, 'x-kubernetes-list-map-keys');
    this.mapType = text(resolved, 'x-kubernetes-map-type');
    this.default = resolved['default'] ?? undefined;
    this.zero = resolved['x-zero'];
    this.#definitions = definitions;
    this.#propertySources = isJsonObject(resolved['properties']) ? resolved['properties'] : {};
  }

  /** Names of the declared fields. */
  get propertyNames(): readonly string[] {
    return (this.#names ??= Object.keys(this.#propertySources));
  }

  property(name: string): SchemaNode | undefined {
    if (this.propertyNames.length === 0) return undefined; // a map, which may have very many
    const known = this.#properties.get(name);
    if (known !== undefined || !Object.hasOwn(this.#propertySources, name)) return known;
    const source = this.#propertySources[name];
    if (!isJsonObject(source)) return undefined;
    const made = nodeOf(source, this.#definitions);
    this.#properties.set(name, made);
    return made;
  }

  /** The declared fields that have a default. */
  get defaultedProperties(): readonly NamedNode[] {
    return (this.#defaulted ??= this.#select((node) => node.default !== undefined));
  }

  /** The declared fields that are written even when unset. */
  get zeroProperties(): readonly NamedNode[] {
    return (this.#zeros ??= this.#select((node) => node.zero !== undefined));
  }

  /** Schema of fields that are not declared; undefined when none are allowed. `true` keeps all of them. */
  get additionalProperties(): SchemaNode | undefined {
    if (this.#additional !== null) return this.#additional;
    const source = this.source['additionalProperties'];
    const found = source === true ? KEEP_ALL : isJsonObject(source) ? source : undefined;
    return (this.#additional = found && this.#child('additionalProperties', found));
  }

  get items(): SchemaNode | undefined {
    const source = this.source['items'];
    return isJsonObject(source) ? this.#child('items', source) : undefined;
  }

  /** The schema of a field: declared, else that of additional ones. */
  field(name: string): SchemaNode | undefined {
    return this.property(name) ?? this.additionalProperties;
  }

  /** Branches of a logical junctor. */
  branches(junctor: 'allOf' | 'anyOf' | 'oneOf'): readonly SchemaNode[] {
    const sources = this.source[junctor];
    if (!Array.isArray(sources)) return [];
    return sources.filter(isJsonObject).map((source, index) => this.#child(`${junctor}/${index}`, source));
  }

  get not(): SchemaNode | undefined {
    const source = this.source['not'];
    return isJsonObject(source) ? this.#child('not', source) : undefined;
  }

  get required(): readonly string[] {
    return texts(this.source, 'required');
  }

  get enum(): readonly unknown[] | undefined {
    const values = this.source['enum'];
    return Array.isArray(values) ? values : undefined;
  }

  /** A numeric keyword, `maximum`, `minLength` … */
  bound(keyword: string): number | undefined {
    const value = this.source[keyword];
    return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
  }

  /** A string keyword, `pattern`, `format` … */
  text(keyword: string): string | undefined {
    return text(this.source, keyword);
  }

  get rules(): readonly JsonObject[] {
    const rules = this.source['x-kubernetes-validations'];
    return Array.isArray(rules) ? rules.filter(isJsonObject) : [];
  }

  #select(condition: (node: SchemaNode) => boolean): readonly NamedNode[] {
    return this.propertyNames.flatMap((name) => {
      const node = this.property(name);
      return node !== undefined && condition(node) ? [{ name, node }] : [];
    });
  }

  #child(key: string, source: JsonObject): SchemaNode {
    const known = this.#children.get(key);
    if (known !== undefined) return known;
    const made = nodeOf(source, this.#definitions);
    this.#children.set(key, made);
    return made;
  }
}

function nodeOf(source: JsonObject, definitions: Definitions): SchemaNode {
  const reference = text(source, '$ref');
  if (reference !== undefined && Object.keys(source).length === 1) {
    return definitions(nameOf(reference)) ?? new SchemaNode(KEEP_ALL, definitions);
  }
  return new SchemaNode(source, definitions);
}

/** A `$ref` with siblings: the siblings win. */
function resolve(source: JsonObject, definitions: Definitions): JsonObject {
  const reference = text(source, '$ref');
  if (reference === undefined) return source;
  const { $ref: _, ...beside } = source;
  return { ...definitions(nameOf(reference))?.source, ...beside };
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function text(source: JsonObject, keyword: string): string | undefined {
  const value = source[keyword];
  return typeof value === 'string' ? value : undefined;
}

function texts(source: JsonObject, keyword: string): readonly string[] {
  const value = source[keyword];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
