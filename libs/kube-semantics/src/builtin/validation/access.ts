import { jsonEquals, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt } from '../../object/reading.js';
import { type FieldError, invalid, notSupported, required } from '../../schema/field-error.js';
import { dnsSubdomain, pathSegment } from '../../schema/names.js';
import { eachItem, named, type Validator } from './checks.js';

const GROUP = 'rbac.authorization.k8s.io';

export const validateRole: Validator = (role) => validateRules(role['rules'], true);
export const validateClusterRole: Validator = (role) => validateRules(role['rules'], false);

function validateRules(rules: unknown, isNamespaced: boolean): readonly FieldError[] {
  return eachItem(rules, 'rules', (item, at) => validateRule(item, at, isNamespaced));
}

function validateRule(rule: JsonObject, path: string, isNamespaced: boolean): readonly FieldError[] {
  const urls = listAt(rule, 'nonResourceURLs');
  const groups = listAt(rule, 'apiGroups');
  const resources = listAt(rule, 'resources');
  const names = listAt(rule, 'resourceNames');
  const errors =
    listAt(rule, 'verbs').length > 0
      ? []
      : [required(`${path}.verbs`, 'verbs must contain at least one value')];
  if (urls.length > 0) {
    if (isNamespaced) {
      errors.push(
        invalid(`${path}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'),
      );
    }
    if (groups.length + resources.length + names.length > 0) {
      const text = 'rules cannot apply to both regular resources and non-resource URLs';
      errors.push(invalid(`${path}.nonResourceURLs`, urls, text));
    }
    return errors;
  }
  if (groups.length === 0) {
    errors.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    errors.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
  return errors;
}

export const validateRoleBinding: Validator = (binding, old) =>
  validateBinding(binding, old, ['Role', 'ClusterRole']);
export const validateClusterRoleBinding: Validator = (binding, old) =>
  validateBinding(binding, old, ['ClusterRole']);

function validateBinding(
  binding: JsonObject,
  old: JsonObject | undefined,
  kinds: readonly string[],
): readonly FieldError[] {
  const role = recordAt(binding, 'roleRef');
  const errors: FieldError[] = [];
  if (role['apiGroup'] !== GROUP)
    errors.push(notSupported('roleRef.apiGroup', textAt(role, ['apiGroup']), [GROUP]));
  if (!kinds.includes(textAt(role, ['kind']))) {
    errors.push(notSupported('roleRef.kind', textAt(role, ['kind']), kinds));
  }
  errors.push(...named(role['name'], 'roleRef.name', pathSegment));
  const isNamespaced = kinds.includes('Role');
  errors.push(
    ...eachItem(binding['subjects'], 'subjects', (item, at) => validateSubject(item, at, isNamespaced)),
  );
  if (old !== undefined && !jsonEquals(role, recordAt(old, 'roleRef'))) {
    const shown = { APIGroup: role['apiGroup'], Kind: role['kind'], Name: role['name'] };
    return [invalid('roleRef', shown, 'cannot change roleRef'), ...errors];
  }
  return errors;
}

function validateSubject(subject: JsonObject, path: string, isNamespaced: boolean): readonly FieldError[] {
  const errors = textAt(subject, ['name']) === '' ? [required(`${path}.name`)] : [];
  const group = textAt(subject, ['apiGroup']);
  switch (subject['kind']) {
    case 'ServiceAccount': {
      const name = textAt(subject, ['name']);
      const wrong = name === '' ? [] : dnsSubdomain(name).map((text) => invalid(`${path}.name`, name, text));
      const isLost = !isNamespaced && textAt(subject, ['namespace']) === '';
      return [
        ...errors,
        ...wrong,
        ...(group === '' ? [] : [notSupported(`${path}.apiGroup`, group, [''])]),
        ...(isLost ? [required(`${path}.namespace`)] : []),
      ];
    }
    case 'User':
    case 'Group':
      return group === GROUP ? errors : [...errors, notSupported(`${path}.apiGroup`, group, [GROUP])];
    default:
      return [
        ...errors,
        notSupported(`${path}.kind`, textAt(subject, ['kind']), ['ServiceAccount', 'User', 'Group']),
      ];
  }
}
