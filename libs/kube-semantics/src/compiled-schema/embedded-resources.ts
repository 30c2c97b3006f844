import { isJsonObject, type JsonObject } from '#lib/json';
import { type FieldError, invalid, required } from '../schema/field-error.js';
import { dnsLabel1035 } from '../schema/names.js';
import { validateMetadata } from '../schema/object-meta.js';
import type { SchemaNode } from '../schema/schema-node.js';

/** Objects at places marked `x-kubernetes-embedded-resource` have a type and valid metadata. */
export function validateEmbeddedResources(
  value: unknown,
  schema: SchemaNode,
  path = '',
): readonly FieldError[] {
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
