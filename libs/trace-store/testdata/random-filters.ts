import fc from 'fast-check';
import { parseInstant } from '#lib/time';
import type { FilterablePair, FilterableRun } from '../../../test/support/evaluate-filter.js';
import { scalarPairs } from '../src/ingestion/scalar-pairs.js';

const FIRST = parseInstant('2026-01-01T00:00:00Z', { zone: 'required' }) ?? 0n;

/** Few words, so that filters find something; some of them would end a text of SQL, a pattern or an array. */
const WORDS = [
  'a',
  'A',
  'b',
  'ab',
  "o'x",
  '"q"',
  'x\\',
  '%',
  '_',
  '{a,"b"}',
  '$1',
  'é',
  '😀',
  '1',
  'true',
  'null',
  '',
];
const KEYS = ['k', 'env', 'a.b', 'k.b', "o'k", 'é'];
const TYPES = ['tool', 'chain', 'llm'];
const STATUSES = ['pending', 'success', 'error', 'interrupted'];
const COSTS = ['0.0000000001', '0.5000000000', '12345678.1234567891'];
const SCORES = [0, 1, 0.1, -2.5];

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const word = fc.constantFrom(...WORDS);
const key = fc.constantFrom(...KEYS);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const moment = fc.integer({ min: 0, max: 5 }).map((n) => FIRST + BigInt(n) * 36_000_000_000n + BigInt(n % 2));
const pairs = fc.uniqueArray(fc.record({ key, value: word }), {
  maxLength: 3,
  selector: (pair) => `${pair.key}\0${pair.value}`,
});
const json = maybe(
  fc.dictionary(key, fc.oneof(word, fc.constantFrom(1, null, true, ['a', 1], { b: 'a' }))),
).map((value) => (value === undefined ? undefined : JSON.stringify(value)));
const feedback = fc.record({
  key,
  score: maybe(fc.constantFrom(...SCORES)),
  value: maybe(word),
  source: maybe(fc.constantFrom('api', 'model')),
});

const pairsIn = (payload: string | undefined): readonly FilterablePair[] =>
  payload === undefined ? [] : scalarPairs(Buffer.from(payload));

const MAX_TRACES = 8;

const fields = fc.record({
  name: word,
  runType: fc.constantFrom(...TYPES),
  status: fc.constantFrom(...STATUSES),
  startTime: moment,
  endTime: maybe(moment),
  firstTokenTime: maybe(moment),
  threadId: maybe(word),
  totalTokens: maybe(fc.integer({ min: 0, max: 3 })),
  promptTokens: maybe(fc.integer({ min: 0, max: 3 })),
  completionTokens: maybe(fc.integer({ min: 0, max: 3 })),
  totalCost: maybe(fc.constantFrom(...COSTS)),
  promptCost: maybe(fc.constantFrom(...COSTS)),
  completionCost: maybe(fc.constantFrom(...COSTS)),
  error: maybe(word),
  tags: fc.array(word, { maxLength: 3 }),
  inputs: json,
  outputs: json,
  metadata: json,
  metadataPairs: pairs,
  feedback: fc.array(feedback, { maxLength: 2 }),
});

/** The same runs for the same seed: some traces, each with a root and runs below it. */
export function randomRuns(count: number, seed: number): readonly FilterableRun[] {
  return fc.sample(fields, { numRuns: count, seed }).map((values, n) => {
    const trace = uuid(n % MAX_TRACES);
    const isRoot = n < MAX_TRACES;
    // those of inputs and outputs are read from the payloads
    const own = { inputPairs: pairsIn(values.inputs), outputPairs: pairsIn(values.outputs) };
    return {
      ...values,
      ...own,
      id: uuid(n),
      traceId: trace,
      isRoot,
      parentRunId: isRoot ? undefined : trace,
    };
  });
}

/** Either quote; JSON's escapes, or as few as possible. */
const text = (value: fc.Arbitrary<string>) =>
  fc
    .tuple(value, fc.constantFrom('"', "'"))
    .map(([each, quote]) => (quote === '"' ? JSON.stringify(each) : `'${each.replace(/['\\]/g, '\\$&')}'`));

const hostile = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((each) => !each.includes('\0') && each.isWellFormed());
const literal = text(fc.oneof({ arbitrary: word, weight: 6 }, { arbitrary: hostile, weight: 1 }));
const someTime = text(moment.map((instant) => new Date(Number(instant / 1000n)).toISOString()));
const someId = text(fc.integer({ min: 0, max: 12 }).map(uuid));
const number = fc.constantFrom(
  '0',
  '1',
  '2',
  '-1',
  '0.1',
  '0.5',
  '1e-10',
  '12345678.1234567891',
  '-2.5',
  '1E2',
);
const duration = fc.oneof(number, text(fc.constantFrom('10h', '0.5d', '36000000ms', '20 h', '600m')));

const call = (name: string, ...args: fc.Arbitrary<string>[]) =>
  fc.tuple(...args, fc.constantFrom('', ' ')).map((parts) => {
    const space = parts.at(-1) ?? '';
    return `${name}(${parts.slice(0, -1).join(`,${space}`)}${space})`;
  });
const list = (item: fc.Arbitrary<string>) =>
  fc.array(item, { maxLength: 3 }).map((items) => `[${items.join(',')}]`);
const anyOf = (...names: string[]) => fc.constantFrom(...names);

function compare(names: readonly string[], operators: readonly string[], value: fc.Arbitrary<string>) {
  return fc
    .tuple(anyOf(...names), anyOf(...operators), value, list(value))
    .map(([name, operator, one, many]) => `${operator}(${name}, ${operator === 'in' ? many : one})`);
}

const EQUALITY = ['eq', 'neq', 'in'];
const TEXT = [...EQUALITY, 'like'];
const RANGE = ['gt', 'gte', 'lt', 'lte'];
const FAMILIES = ['metadata', 'input', 'output'];

const pairCondition = fc.oneof(
  compare(
    FAMILIES.map((family) => `${family}_key`),
    TEXT,
    text(key),
  ),
  compare(
    FAMILIES.map((family) => `${family}_value`),
    TEXT,
    fc.oneof(literal, fc.constantFrom('1', 'true')),
  ),
  compare(['feedback_key'], TEXT, text(key)),
  compare(['feedback_score'], [...EQUALITY, ...RANGE], number),
  compare(['feedback_value', 'feedback_source'], TEXT, fc.oneof(literal, fc.constant('"api"'))),
);

const condition = fc.oneof(
  compare(['id', 'trace_id', 'parent_run_id'], EQUALITY, someId),
  compare(['name', 'thread_id', 'error'], TEXT, literal),
  compare(['run_type'], EQUALITY, text(fc.constantFrom(...TYPES))),
  compare(['status'], EQUALITY, text(fc.constantFrom(...STATUSES))),
  compare(['start_time', 'end_time', 'first_token_time'], ['eq', 'neq', ...RANGE], someTime),
  compare(['latency'], RANGE, duration),
  compare(
    ['total_tokens', 'prompt_tokens', 'completion_tokens', 'execution_order'],
    [...EQUALITY, ...RANGE],
    number,
  ),
  compare(['total_cost', 'prompt_cost', 'completion_cost'], [...EQUALITY, ...RANGE], number),
  compare(['is_root'], ['eq', 'neq'], anyOf('true', 'false')),
  compare(
    ['error', 'end_time', 'thread_id', 'total_tokens', 'parent_run_id'],
    ['eq', 'neq'],
    fc.constant('null'),
  ),
  call('has', anyOf('tags', '"tags"'), literal),
  call(
    'has',
    anyOf('metadata'),
    text(
      fc
        .dictionary(key, fc.oneof(word, fc.constantFrom(1, null, ['a'], {})), { maxKeys: 2 })
        .map((value) => JSON.stringify(value)),
    ),
  ),
  call('exists', anyOf('metadata'), text(key)),
  call('search', text(word.filter((each) => each !== ''))),
  call(
    'search',
    anyOf('name', 'error', 'tags', 'inputs', 'outputs', 'metadata'),
    text(word.filter((each) => each !== '')),
  ),
);

/** Filters of all operators and fields over the words of random runs. Some are refused: a pair with two keys. */
export const randomFilter: fc.Arbitrary<string> = fc.letrec<{ tree: string }>((tie) => {
  const parts = fc.array(
    fc.oneof({ arbitrary: pairCondition, weight: 2 }, { arbitrary: tie('tree'), weight: 3 }),
    { minLength: 1, maxLength: 4 },
  );
  const logic = fc.tuple(anyOf('and', 'and', 'or'), parts).map(([name, all]) => `${name}(${all.join(', ')})`);
  return {
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { arbitrary: condition, weight: 3 },
      { arbitrary: pairCondition, weight: 2 },
      { arbitrary: logic, weight: 3 },
      { arbitrary: tie('tree').map((each) => `not(${each})`), weight: 1 },
    ),
  };
}).tree;
