import { isJsonObject, type JsonObject } from '#lib/json';
import { hasRules } from '../cel/has-rules.js';
import { validateRules } from '../cel/validate-rules.js';
import { recordAt } from '../object/reading.js';
import type { CompiledSchema, Pruned, ValidateOptions } from '../schema/compiled-schema.js';
import { applyDefaults } from '../schema/defaults.js';
import { type FieldError, type FieldErrorReason, invalid } from '../schema/field-error.js';
import { knownDefinition, objectMetaSchema } from '../schema/known-definitions.js';
import { validateListTypes } from '../schema/list-types.js';
import { prune } from '../schema/prune.js';
import { SchemaNode } from '../schema/schema-node.js';
import { validateValue } from '../schema/validate-value.js';
import { validateEmbeddedResources } from './embedded-resources.js';

/** Errors after which the rules are not run: rules could fail on the same fault. */
const BLOCKING: ReadonlySet<FieldErrorReason> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/**
 * Compiles `spec.versions[].schema.openAPIV3Schema` of a CustomResourceDefinition. `apiVersion`, `kind` and `metadata`
 * need not be in it: every object has them. Compile once for a version and keep it; rules are compiled on first use.
 */
export function compileSchema(openAPIV3Schema: JsonObject): CompiledSchema {
  const metadata = objectMetaSchema();
  return new CompiledCustomSchema(
    new SchemaNode(withMeta(openAPIV3Schema, metadata), knownDefinition),
    metadata,
  );
}

/** The schema of the whole object, as clients and server-side apply see it. */
function withMeta(schema: JsonObject, metadata: SchemaNode): JsonObject {
  const properties = recordAt(schema, 'properties');
  const own = recordAt(properties, 'metadata');
  const known = recordAt(metadata.source, 'properties');
  const string = { type: 'string' };
  return {
    ...schema,
    properties: {
      apiVersion: string,
      kind: string,
      ...properties,
      metadata: {
        ...metadata.source,
        ...own,
        properties: mergeProperties(known, recordAt(own, 'properties')),
      },
    },
  };
}

/** Adds a schema's rules for `metadata.name` to those for every name. */
function mergeProperties(known: JsonObject, own: JsonObject): JsonObject {
  const merged = Object.entries(own).map(([name, schema]) => [
    name,
    { ...recordAt(known, name), ...(isJsonObject(schema) ? schema : {}) },
  ]);
  return { ...known, ...Object.fromEntries(merged) };
}

class CompiledCustomSchema implements CompiledSchema {
  readonly isBuiltin = false;
  readonly root: SchemaNode;
  readonly #metadata: SchemaNode;
  readonly #hasRules: boolean;

  constructor(root: SchemaNode, metadata: SchemaNode) {
    this.root = root;
    this.#metadata = metadata;
    this.#hasRules = hasRules(root);
  }

  prune<T extends JsonObject>(object: T): Pruned<T> {
    return prune(object, this.root, this.#metadata);
  }

  applyDefaults<T extends JsonObject>(object: T): T {
    return applyDefaults(object, this.root);
  }

  validate(object: JsonObject, oldObject?: JsonObject, options: ValidateOptions = {}): readonly FieldError[] {
    const errors = [
      ...this.#validateStructure(object, oldObject, options),
      ...validateEmbeddedResources(object, this.root),
      ...this.#validateLists(object, oldObject),
    ];
    if (!this.#hasRules) return errors;
    if (errors.some((error) => BLOCKING.has(error.reason))) {
      const text =
        'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
      return [...errors, invalid('', null, text)];
    }
    return [...errors, ...validateRules(this.root, object, oldObject)];
  }

  #validateStructure(
    object: JsonObject,
    old: JsonObject | undefined,
    options: ValidateOptions,
  ): readonly FieldError[] {
    const correlated = old === undefined ? undefined : { old };
    if (options.subresource !== 'status') return validateValue(object, this.root, correlated);
    const { status } = object;
    const schema = this.root.property('status');
    if (status === undefined || schema === undefined) return [];
    const before = old === undefined ? undefined : { old: old['status'] };
    return validateValue(status, schema, before, 'status');
  }

  #validateLists(object: JsonObject, old: JsonObject | undefined): readonly FieldError[] {
    const wasWrong = old !== undefined && validateListTypes(old, this.root).length > 0;
    return wasWrong ? [] : validateListTypes(object, this.root);
  }
}
