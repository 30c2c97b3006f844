import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  required,
  tooMany,
} from '../../schema/field-error.js';
import { isJsonObject, type JsonObject } from '#lib/json';
import { listAt, recordAt, textAt, textsAt } from '../../object/reading.js';
import { labelValue, qualifiedName } from '../../schema/names.js';
import { validateLabels } from '../../schema/object-meta.js';
import { eachItem } from './checks.js';

/**
 * Labels and expressions of one selector. It is compared with every object of its namespace by controllers and proxies that
 * all namespaces share, so that tens of thousands of them, which no people write, would stop all others.
 */
const MAX_REQUIREMENTS = 32;
/** Maximum number of values in all its expressions. */
const MAX_VALUES = 1_000;

/** Keys, values and operators of a label selector, and that it is no longer than selectors may be. */
export function validateSelector(selector: JsonObject, path: string): readonly FieldError[] {
  const expressions = listAt(selector, 'matchExpressions');
  const values = expressions.reduce<number>((sum, one) => sum + listAt(one, 'values').length, 0);
  const long = [
    ...validateSelectorSize(recordAt(selector, 'matchLabels'), `${path}.matchLabels`),
    ...atMost(expressions.length, MAX_REQUIREMENTS, `${path}.matchExpressions`),
    ...atMost(values, MAX_VALUES, `${path}.matchExpressions.values`),
  ];
  if (long.length > 0) return long;
  return [
    ...validateLabels(recordAt(selector, 'matchLabels'), `${path}.matchLabels`),
    ...eachItem(selector['matchExpressions'], `${path}.matchExpressions`, validateExpression),
  ];
}

/** Checks that a selector of labels alone, as a Service has it, is no longer than selectors may be. */
export function validateSelectorSize(labels: JsonObject, path: string): readonly FieldError[] {
  return atMost(Object.keys(labels).length, MAX_REQUIREMENTS, path);
}

function atMost(actual: number, max: number, path: string): readonly FieldError[] {
  return actual > max ? [tooMany(path, actual, max)] : [];
}

function validateExpression(expression: JsonObject, path: string): readonly FieldError[] {
  const key = textAt(expression, ['key']);
  const operator = textAt(expression, ['operator']);
  const values = textsAt(expression, 'values');
  const keyed = qualifiedName(key).map((text) => invalid(`${path}.key`, key, text));
  const valued = errorsOfEach(values, (value, index) =>
    labelValue(value).map((text) => invalid(`${path}.values[${index}]`, value, text)),
  );
  return [...operatorErrors(operator, values, path), ...keyed, ...valued];
}

function operatorErrors(operator: string, values: readonly string[], path: string): readonly FieldError[] {
  switch (operator) {
    case 'In':
    case 'NotIn':
      return values.length > 0
        ? []
        : [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0
        ? []
        : [forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalid(`${path}.operator`, operator, 'not a valid selector operator')];
  }
}

/** True when there is nothing to select by. */
export function isEmptySelector(selector: JsonObject): boolean {
  const expressions = selector['matchExpressions'];
  return (
    Object.keys(recordAt(selector, 'matchLabels')).length === 0 &&
    (!Array.isArray(expressions) || expressions.length === 0)
  );
}

export function selectorMatches(selector: JsonObject, labels: JsonObject): boolean {
  const byLabels = Object.entries(recordAt(selector, 'matchLabels')).every(
    ([key, value]) => labels[key] === value,
  );
  return (
    byLabels &&
    listAt(selector, 'matchExpressions').every(
      (expression) => !isJsonObject(expression) || expressionMatches(expression, labels),
    )
  );
}

function expressionMatches(expression: JsonObject, labels: JsonObject): boolean {
  const value = labels[textAt(expression, ['key'])];
  const values: readonly unknown[] = textsAt(expression, 'values');
  switch (expression['operator']) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return !values.includes(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}
