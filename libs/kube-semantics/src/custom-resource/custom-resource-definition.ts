import { isJsonObject, jsonEquals, type JsonObject } from '#lib/json';
import { at, listAt, recordAt, textAt, textsAt } from '../object/reading.js';
import { type FieldError, forbidden, invalid, notSupported, required } from '../schema/field-error.js';
import { dnsLabel1035, dnsSubdomain } from '../schema/names.js';
import { validateSchemaRules } from './schema-rules.js';
import { validateStructural } from './structural.js';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];

/**
 * Names, versions, structural schemas, printer columns and rules of a CustomResourceDefinition; with `old` its
 * immutable fields too. Costs of rules are not estimated.
 */
export function validateCustomResourceDefinition(crd: JsonObject, old?: JsonObject): readonly FieldError[] {
  const spec = recordAt(crd, 'spec');
  const group = textAt(spec, ['group']);
  const name = textAt(crd, ['metadata', 'name']);
  const plural = textAt(spec, ['names', 'plural']);
  const errors: FieldError[] = [];
  if (name !== `${plural}.${group}`) {
    errors.push(invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group'));
  }
  errors.push(...groupErrors(group), ...scopeErrors(spec), ...versionErrors(spec), ...namesErrors(spec));
  if (old === undefined) return errors;
  return [...errors, ...changeErrors(crd, old)];
}

function groupErrors(group: string): readonly FieldError[] {
  if (group === '') return [required('spec.group')];
  const problems = dnsSubdomain(group);
  if (problems.length > 0) return [invalid('spec.group', group, problems.join(','))];
  return group.includes('.')
    ? []
    : [invalid('spec.group', group, 'should be a domain with at least one dot')];
}

function scopeErrors(spec: JsonObject): readonly FieldError[] {
  const scope = textAt(spec, ['scope']);
  if (scope === '') return [required('spec.scope')];
  const supported = ['Cluster', 'Namespaced'];
  return supported.includes(scope) ? [] : [notSupported('spec.scope', scope, supported)];
}

function versionErrors(spec: JsonObject): readonly FieldError[] {
  const versions = listAt(spec, 'versions').filter(isJsonObject);
  const errors = versions.flatMap((version, index) => oneVersionErrors(version, index, versions.length));
  const names = versions.map((version) => textAt(version, ['name']));
  if (new Set(names).size < names.length) {
    errors.push(invalid('spec.versions', versions, 'must contain unique version names'));
  }
  if (versions.filter((version) => version['storage'] === true).length !== 1) {
    errors.push(
      invalid('spec.versions', versions, 'must have exactly one version marked as storage version'),
    );
  }
  return errors;
}

function oneVersionErrors(version: JsonObject, index: number, count: number): readonly FieldError[] {
  const path = `spec.versions[${index}]`;
  const name = textAt(version, ['name']);
  const problems = dnsLabel1035(name);
  const errors = problems.length > 0 ? [invalid(`${path}.name`, name, problems.join(','))] : [];
  const schema = at(version, 'schema', 'openAPIV3Schema');
  if (!isJsonObject(schema)) errors.push(required(`${path}.schema.openAPIV3Schema`));
  else {
    // a resource with one version has its schema errors reported at the former place of the schema of all
    // versions
    const root = count === 1 ? 'spec.validation.openAPIV3Schema' : `${path}.schema.openAPIV3Schema`;
    if (schema['nullable'] === true)
      errors.push(forbidden(`${root}.nullable`, 'nullable cannot be true at the root'));
    const structural = validateStructural(schema, root);
    errors.push(...structural, ...validateSchemaRules(schema, root));
  }
  return [...errors, ...columnErrors(version, path, count), ...scaleErrors(version, path, count)];
}

function columnErrors(version: JsonObject, path: string, count: number): readonly FieldError[] {
  const root = count === 1 ? 'spec' : path;
  return listAt(version, 'additionalPrinterColumns').flatMap((column, index) => {
    const place = `${root}.additionalPrinterColumns[${index}]`;
    const type = textAt(column, ['type']);
    const choice = `must be one of ${COLUMN_TYPES.join(',')}`;
    const errors = textAt(column, ['name']) === '' ? [required(`${place}.name`)] : [];
    if (type === '') errors.push(required(`${place}.type`, choice));
    else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(`${place}.type`, type, choice));
    if (textAt(column, ['jsonPath']) === '') errors.push(required(`${place}.JSONPath`));
    return errors;
  });
}

function scaleErrors(version: JsonObject, path: string, count: number): readonly FieldError[] {
  const scale = at(version, 'subresources', 'scale');
  if (!isJsonObject(scale)) return [];
  const root = `${count === 1 ? 'spec' : path}.subresources.scale`;
  return [
    ...jsonPathErrors(scale, `${root}.specReplicasPath`, 'specReplicasPath', '.spec.'),
    ...jsonPathErrors(scale, `${root}.statusReplicasPath`, 'statusReplicasPath', '.status.'),
  ];
}

function jsonPathErrors(scale: JsonObject, path: string, name: string, start: string): readonly FieldError[] {
  const value = textAt(scale, [name]);
  if (value === '') return [required(path)];
  if (value.startsWith(start)) return [];
  return [invalid(path, value, `should be a json path under ${start.slice(0, -1)}`)];
}

function namesErrors(spec: JsonObject): readonly FieldError[] {
  const names = recordAt(spec, 'names');
  const label = (name: string): readonly FieldError[] => {
    const value = textAt(names, [name]);
    if (value === '') return [required(`spec.names.${name}`)];
    const isKind = name.toLowerCase().endsWith('kind');
    const problems = dnsLabel1035(isKind ? value.toLowerCase() : value).join(',');
    const text = isKind ? `may have mixed case, but should otherwise match: ${problems}` : problems;
    return problems === '' ? [] : [invalid(`spec.names.${name}`, value, text)];
  };
  const lists = ['shortNames', 'categories'].flatMap((name) =>
    textsAt(names, name).flatMap((value, index) => {
      const problems = dnsLabel1035(value).join(',');
      return problems === '' ? [] : [invalid(`spec.names.${name}[${index}]`, value, problems)];
    }),
  );
  const same = names['kind'] !== undefined && names['kind'] === names['listKind'];
  const errors = [...label('plural'), ...label('singular'), ...label('kind'), ...label('listKind'), ...lists];
  if (!same) return errors;
  return [
    ...errors,
    invalid('spec.names.listKind', names['listKind'], 'kind and listKind may not be the same'),
  ];
}

function changeErrors(crd: JsonObject, old: JsonObject): readonly FieldError[] {
  const errors = [
    ['spec', 'group'],
    ['spec', 'names', 'plural'],
    ['spec', 'scope'],
    ['spec', 'names', 'kind'],
  ].flatMap((path) =>
    jsonEquals(at(crd, ...path), at(old, ...path))
      ? []
      : [invalid(path.join('.'), at(crd, ...path), 'field is immutable')],
  );
  const names = listAt(crd, 'spec', 'versions').map((version) => textAt(version, ['name']));
  textsAt(old, 'status', 'storedVersions').forEach((stored, index) => {
    if (names.includes(stored)) return;
    const text = `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`;
    errors.push(invalid(`status.storedVersions[${index}]`, stored, text));
  });
  return errors;
}
