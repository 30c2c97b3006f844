/** Operators of the language: `kind` decides how the arguments are read. */
export const OPERATORS = Object.freeze({
  and: { kind: 'logic', form: 'and(condition, …)', about: 'All conditions hold.' },
  or: { kind: 'logic', form: 'or(condition, …)', about: 'At least one condition holds.' },
  not: { kind: 'logic', form: 'not(condition)', about: 'The condition does not hold.' },
  eq: { kind: 'compare', form: 'eq(field, value)', about: 'The field has the value.' },
  neq: {
    kind: 'compare',
    form: 'neq(field, value)',
    about: 'The field has another value, or none.',
  },
  gt: { kind: 'compare', form: 'gt(field, value)', about: 'The field is greater, or later.' },
  gte: { kind: 'compare', form: 'gte(field, value)', about: 'The field is greater or equal.' },
  lt: { kind: 'compare', form: 'lt(field, value)', about: 'The field is less, or earlier.' },
  lte: { kind: 'compare', form: 'lte(field, value)', about: 'The field is less or equal.' },
  in: { kind: 'compare', form: 'in(field, [value, …])', about: 'The field has one of the values.' },
  like: {
    kind: 'compare',
    form: 'like(field, "pattern")',
    about:
      'The whole field fits the pattern: `%` is any text, `_` any one character, nothing else is special.',
  },
  has: {
    kind: 'has',
    form: 'has(tags, "tag")',
    about:
      'The run has exactly this tag; `has(metadata, \'{"key": "value"}\')`: its metadata contain this JSON object.',
  },
  exists: {
    kind: 'exists',
    form: 'exists(metadata, "key")',
    about: 'The metadata have this key at their top level.',
  },
  search: {
    kind: 'search',
    form: 'search("text")',
    about:
      'The text occurs in name, error, tags, inputs, outputs or metadata, whatever the case; `search(field, "text")`: in this field.',
  },
} as const);

export type OperatorName = keyof typeof OPERATORS;

/** Operators that compare a field with a value. */
export type Comparator = 'eq' | 'neq' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'like';

export const OPERATOR_NAMES = Object.freeze(Object.keys(OPERATORS)) as readonly OperatorName[];

export function isOperator(name: string): name is OperatorName {
  return Object.hasOwn(OPERATORS, name);
}
