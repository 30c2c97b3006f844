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

/** Operators of the fields of a type, and the operands that they take (for messages and the reference). */
export const FIELD_TYPES = Object.freeze({
  uuid: { operators: ['eq', 'neq', 'in'], takes: 'a uuid in quotes' },
  text: { operators: ['eq', 'neq', 'in', 'like'], takes: 'a text in quotes' },
  name: { operators: ['eq', 'neq', 'in', 'like', 'search'], takes: 'a text in quotes' },
  word: { operators: ['eq', 'neq', 'in'], takes: 'a word of the list, in quotes' },
  time: {
    operators: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'],
    takes: 'a time in quotes: "2026-01-31T12:00:00Z" or "2026-01-31", UTC unless it has an offset',
  },
  duration: {
    operators: ['gt', 'gte', 'lt', 'lte'],
    takes: 'a number of seconds, or a duration in quotes: "250ms", "5s", "2m", "1.5h", "1d"',
  },
  number: { operators: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in'], takes: 'a number' },
  boolean: { operators: ['eq', 'neq'], takes: 'true or false' },
  scalar: {
    operators: ['eq', 'neq', 'in', 'like'],
    takes: 'a text in quotes, a number as it was written, true or false',
  },
  tags: { operators: ['has', 'search'], takes: 'a text in quotes' },
  object: { operators: ['has', 'exists', 'search'], takes: 'a JSON object or a key, in quotes' },
  document: { operators: ['search'], takes: 'a text in quotes' },
} as const satisfies Record<string, { operators: readonly OperatorName[]; takes: string }>);

export type FieldType = keyof typeof FIELD_TYPES;

/** Families of pairs, of which a run has many. */
export type PairFamily = 'metadata' | 'input' | 'output' | 'feedback';
/** Parts of one of them. Inputs, outputs and metadata have key and value. */
export type PairPart = 'key' | 'value' | 'score' | 'source';

interface FieldRow {
  readonly type: FieldType;
  readonly about: string;
  /** A run may lack it: `null` can be compared with. */
  readonly nullable?: true;
  readonly words?: readonly string[];
  /** Part of a pair, for fields that are not of the run itself. */
  readonly pair?: readonly [PairFamily, PairPart];
}

const NESTED = 'names of nested objects joined by `.`, positions in lists left out: `messages.content`';
const CUT = 'of which 250 characters are kept';

/** Every field, in the order of the reference. */
export const FIELDS = Object.freeze({
  id: { type: 'uuid', about: 'Id of the run.' },
  trace_id: { type: 'uuid', about: 'Id of its trace.' },
  parent_run_id: { type: 'uuid', about: 'Id of the run that it is part of.', nullable: true },
  thread_id: {
    type: 'text',
    about: 'Thread: `session_id`, `conversation_id` or `thread_id` of its metadata.',
    nullable: true,
  },
  name: { type: 'name', about: 'Name of the run.' },
  run_type: {
    type: 'word',
    about: 'Type of the run.',
    words: ['tool', 'chain', 'llm', 'retriever', 'embedding', 'prompt', 'parser'],
  },
  status: {
    type: 'word',
    about:
      'How it ended. A run whose sender died is interrupted after a time; filters of exports read what is stored, pending.',
    words: ['pending', 'success', 'error', 'interrupted'],
  },
  is_root: { type: 'boolean', about: 'Whether it is the root of its trace.' },
  start_time: { type: 'time', about: 'When it began.' },
  end_time: { type: 'time', about: 'When it ended.', nullable: true },
  first_token_time: { type: 'time', about: 'When its first token came.', nullable: true },
  latency: { type: 'duration', about: 'From start to end; a run without an end has none.' },
  total_tokens: {
    type: 'number',
    about: 'Tokens, in all; of a root those of its trace, like all tokens and costs here.',
    nullable: true,
  },
  prompt_tokens: { type: 'number', about: 'Tokens of the input.', nullable: true },
  completion_tokens: { type: 'number', about: 'Tokens of the output.', nullable: true },
  total_cost: { type: 'number', about: 'Cost in US dollars, in all.', nullable: true },
  prompt_cost: { type: 'number', about: 'Cost of the input.', nullable: true },
  completion_cost: { type: 'number', about: 'Cost of the output.', nullable: true },
  execution_order: { type: 'number', about: '1 for every run; older clients ask for it.' },
  error: {
    type: 'name',
    about: 'Text of the error. `neq(error, null)`: the run failed.',
    nullable: true,
  },
  tags: { type: 'tags', about: 'Tags of the run.' },
  metadata: { type: 'object', about: 'The metadata as a whole.' },
  inputs: { type: 'document', about: 'The inputs as JSON text.' },
  outputs: { type: 'document', about: 'The outputs as JSON text.' },
  metadata_key: { type: 'text', about: `Key of the metadata, ${NESTED}.`, pair: ['metadata', 'key'] },
  metadata_value: { type: 'scalar', about: `Its value, ${CUT}.`, pair: ['metadata', 'value'] },
  input_key: { type: 'text', about: `Key of the inputs, ${NESTED}.`, pair: ['input', 'key'] },
  input_value: { type: 'scalar', about: `Its value, ${CUT}.`, pair: ['input', 'value'] },
  output_key: { type: 'text', about: `Key of the outputs, ${NESTED}.`, pair: ['output', 'key'] },
  output_value: { type: 'scalar', about: `Its value, ${CUT}.`, pair: ['output', 'value'] },
  feedback_key: { type: 'text', about: 'Key of a feedback to the run.', pair: ['feedback', 'key'] },
  feedback_score: { type: 'number', about: 'Its score.', pair: ['feedback', 'score'] },
  feedback_value: { type: 'scalar', about: 'Its value, where it is one word.', pair: ['feedback', 'value'] },
  feedback_source: {
    type: 'text',
    about: 'Where it came from: `api`, `model`, `app`, `auto_eval`.',
    pair: ['feedback', 'source'],
  },
} as const satisfies Record<string, FieldRow>);

export type FieldName = keyof typeof FIELDS;
export const FIELD_NAMES = Object.freeze(Object.keys(FIELDS)) as readonly FieldName[];

/** Fields of pairs by the end of their names. */
export type PairField = Extract<FieldName, `${PairFamily}_${PairPart}`>;
/** Fields that are compared with a value and belong to the run. */
export type RunField = {
  [Name in FieldName]: (typeof FIELDS)[Name]['type'] extends 'tags' | 'object' | 'document'
    ? never
    : Name extends PairField
      ? never
      : Name;
}[FieldName];
/** Fields that `search` can be confined to. */
export type SearchField = {
  [Name in FieldName]: (typeof FIELDS)[Name]['type'] extends 'name' | 'tags' | 'object' | 'document'
    ? Name
    : never;
}[FieldName];

export function isField(name: string): name is FieldName {
  return Object.hasOwn(FIELDS, name);
}

/** The row of a field, with everything that a row can have. */
export function fieldRow(name: FieldName): FieldRow {
  return FIELDS[name];
}

/** The operators of a field, in the order of the table. */
export function operatorsOf(name: FieldName): readonly OperatorName[] {
  return FIELD_TYPES[FIELDS[name].type].operators;
}
