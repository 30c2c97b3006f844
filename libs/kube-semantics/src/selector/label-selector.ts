import { isJsonObject } from '#lib/json';
import { listAt, textAt, textsAt } from '../object/reading.js';

export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

/** All requirements must hold. */
export type LabelSelector = readonly LabelRequirement[];

export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return selector.every((requirement) => holds(requirement, labelOf(labels, requirement.key)));
}

/** Only what was set: every object answers to `constructor`. */
function labelOf(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'lt':
      return value !== undefined && Number(value) < Number(values[0]);
  }
}

const EXPRESSION_OPERATORS: ReadonlyMap<string, string> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
]);

/** The text of a `spec.selector` with matchLabels and matchExpressions, as tables and `/scale` show it. */
export function labelSelectorText(selector: unknown): string {
  if (!isJsonObject(selector)) return '';
  const labels = isJsonObject(selector.matchLabels) ? Object.entries(selector.matchLabels) : [];
  const equal = labels.map(([key, value]) => `${key}=${String(value)}`);
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const key = textAt(expression, ['key']);
    const operator = textAt(expression, ['operator']);
    if (operator === 'Exists') return key;
    if (operator === 'DoesNotExist') return `!${key}`;
    return `${key} ${EXPRESSION_OPERATORS.get(operator) ?? operator} (${[...textsAt(expression, 'values')].sort().join(',')})`;
  });
  return [...equal, ...expressions].sort().join(',');
}
