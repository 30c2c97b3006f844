import { isJsonObject, type JsonObject } from '#lib/json';
import { hasRules, validateRules } from '../cel/validate-rules.js';
import { recordAt } from '../object/reading.js';
import { applyDefaults } from '../schema/defaults.js';
import { type FieldError, type FieldErrorReason, invalid, required } from '../schema/field-error.js';
import { knownDefinition, objectMetaSchema } from '../schema/known-definitions.js';
import { validateListTypes } from '../schema/list-types.js';
import { dnsLabel1035 } from '../schema/names.js';
import { validateMetadata } from '../schema/object-meta.js';
import { prune } from '../schema/prune.js';
import { type CompiledSchema, type Pruned, SchemaNode, type ValidateOptions } from '../schema/schema-node.js';
import { validateValue } from '../schema/validate-value.js';

/** Objects at places marked `x-kubernetes-embedded-resource` have a type and valid metadata. */
function validateEmbeddedResources(value: unknown, schema: SchemaNode, path = ''): readonly FieldError[] {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items === undefined) return [];
    return value.flatMap((item, index) => validateEmbeddedResources(item, items, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [];
  const own = schema.embeddedResource ? validateResource(value, path === '' ? '' : `${path}.`) : [];
  const inner = Object.entries(value).flatMap(([name, item]) => {
    const property = schema.property(name);
    if (property !== undefined) {
      return validateEmbeddedResources(item, property, path === '' ? name : `${path}.${name}`);
    }
    const additional = schema.additionalProperties;
    return additional === undefined ? [] : validateEmbeddedResources(item, additional, `${path}[${name}]`);
  });
  return [...own, ...inner];
}

function validateResource(resource: JsonObject, prefix: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ['apiVersion', 'kind']) {
    const value = resource[field];
    const at = `${prefix}${field}`;
    if (value === undefined) errors.push(required(at));
    else if (typeof value !== 'string') errors.push(invalid(at, value, 'must be a string'));
    else if (value === '') errors.push(invalid(at, value, 'must not be empty'));
    else if (field === 'apiVersion' && value.split('/').length > 2) {
      errors.push(invalid(at, value, `unexpected GroupVersion string: ${value}`));
    } else if (field === 'kind') {
      const problems = dnsLabel1035(value.toLowerCase());
      const text = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
      if (problems.length > 0) errors.push(invalid(at, value, text));
    }
  }
  const metadata = resource['metadata'];
  if (!isJsonObject(metadata)) return errors;
  const named = { name: 'fakename', ...metadata };
  const rules = { namespaced: typeof metadata['namespace'] === 'string', nameRule: 'path-segment' } as const;
  return [...errors, ...validateMetadata(named, rules, `${prefix}metadata`)];
}

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
