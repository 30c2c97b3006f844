import { parseInstant, type Instant } from '#lib/time';
import type { FilterableRun } from './evaluate-filter.js';

const UUID = '4070f233-f61e-44eb-bff1-da3c163895a3';

function at(iso: string): Instant {
  const instant = parseInstant(iso, { zone: 'optional' });
  if (instant === undefined) throw new Error(iso);
  return instant;
}

let ids = 0;

/** A finished root run without anything else. */
export function aRun(fields: Partial<FilterableRun> = {}): FilterableRun {
  const id = `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
  return {
    id,
    traceId: id,
    name: 'agent',
    runType: 'chain',
    status: 'success',
    isRoot: true,
    startTime: at('2026-01-01T12:00:00Z'),
    endTime: at('2026-01-01T12:00:01Z'),
    tags: [],
    metadataPairs: [],
    inputPairs: [],
    outputPairs: [],
    feedback: [],
    ...fields,
  };
}

/** A run with these metadata, flat. */
function withMetadata(metadata: Readonly<Record<string, string>>): FilterableRun {
  return aRun({
    metadata: JSON.stringify(metadata),
    metadataPairs: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  });
}

/** Which filter of a query, what it says, runs that it finds and runs that it does not find. */
export interface Expression {
  readonly filter: string;
  readonly finds: readonly FilterableRun[];
  readonly leaves: readonly FilterableRun[];
}

function row(filter: string, finds: readonly FilterableRun[], leaves: readonly FilterableRun[]): Expression {
  return { filter, finds, leaves };
}

const lasting = (seconds: number, fields: Partial<FilterableRun> = {}) =>
  aRun({ endTime: at('2026-01-01T12:00:00Z') + BigInt(Math.round(seconds * 1e6)), ...fields });
const scored = (key: string, score: number) => aRun({ feedback: [{ key, score }] });
const tagged = (...tags: string[]) => aRun({ tags });
const failed = aRun({ error: 'Error: boom', status: 'error' });
const named = (name: string) => aRun({ name });
const threads = '["session_id","conversation_id","thread_id"]';

/** Every filter expression of public documents, SDKs and their tests. */
export const EXPRESSIONS: readonly Expression[] = [
  row(
    'and(eq(run_type, "chain"), gt(latency, 10), gt(total_tokens, 5000))',
    [lasting(11, { totalTokens: 5001 })],
    [
      lasting(11, { totalTokens: 5000 }),
      lasting(10, { totalTokens: 6000 }),
      lasting(11),
      lasting(11, { totalTokens: 6000, runType: 'llm' }),
    ],
  ),
  row('eq(name, "extractor")', [named('extractor')], [named('Extractor'), named('')]),
  row(
    'and(eq(feedback_key, "user_score"), eq(feedback_score, 1))',
    [scored('user_score', 1)],
    [scored('user_score', 0), scored('other', 1), aRun()],
  ),
  row(
    'and(eq(feedback_key, "star_rating"), gt(feedback_score, 4))',
    [scored('star_rating', 4.5)],
    [scored('star_rating', 4)],
  ),
  row('gt(latency, "5s")', [lasting(5.000001)], [lasting(5), aRun({ endTime: undefined })]),
  row('gt(total_tokens, 5000)', [aRun({ totalTokens: 5001 })], [aRun({ totalTokens: 5000 }), aRun()]),
  row('neq(error, null)', [failed], [aRun()]),
  row('gt(start_time, "2023-07-15T12:34:56Z")', [aRun()], [aRun({ startTime: at('2023-07-15T12:34:56Z') })]),
  row(
    'search("substring")',
    [named('a SubString b'), aRun({ inputs: '{"q":"no substring"}' }), tagged('substrings')],
    [aRun(), named('sub string')],
  ),
  row('search("image classification")', [aRun({ outputs: '{"a":["Image Classification"]}' })], [aRun()]),
  row('has(tags, "2aa1cf4")', [tagged('a', '2aa1cf4')], [tagged('2aa1cf4b'), aRun()]),
  row(
    'and(gt(start_time, "2023-07-15T12:34:56Z"), or(neq(error, null), and(eq(feedback_key, "Correctness"), eq(feedback_score, 0.0))))',
    [failed, scored('Correctness', 0)],
    [aRun(), scored('Correctness', 1)],
  ),
  row(
    'and(or(has(tags, "experimental"), has(tags, "beta")), gt(latency, 2))',
    [lasting(3, { tags: ['beta'] }), lasting(3, { tags: ['experimental'] })],
    [lasting(2, { tags: ['beta'] }), lasting(3)],
  ),
  row("eq(metadata_key, 'user_id')", [withMetadata({ user_id: '' })], [withMetadata({ user: 'user_id' })]),
  row(
    `and(eq(metadata_key, 'user_id'), eq(metadata_value, '${UUID}'))`,
    [withMetadata({ user_id: UUID })],
    [withMetadata({ user_id: 'x', other: UUID })],
  ),
  row(
    `and(in(metadata_key, ${threads}), eq(metadata_value, "X"))`,
    [withMetadata({ thread_id: 'X' }), withMetadata({ session_id: 'X' })],
    [withMetadata({ thread_id: 'Y', other: 'X' })],
  ),
  row(
    "and(neq(metadata_key, 'conversation_id'))",
    [aRun(), withMetadata({ a: 'b' })],
    [withMetadata({ conversation_id: 'b' })],
  ),
  row(
    "and(eq(metadata_key, 'conversation_id'), neq(metadata_value, 'a1b2'))",
    [withMetadata({ conversation_id: 'other' })],
    [withMetadata({ conversation_id: 'a1b2' }), withMetadata({ a: 'other' }), aRun()],
  ),
  row(
    "and(neq(metadata_key, 'conversation_id'), neq(metadata_value, 'a1b2'))",
    [aRun(), withMetadata({ a: 'other' })],
    [withMetadata({ a: 'a1b2' }), withMetadata({ conversation_id: 'other' })],
  ),
  row(
    "and(neq(metadata_key, 'conversation_id'), eq(metadata_value, 'a1b2'))",
    [withMetadata({ a: 'a1b2' })],
    [
      withMetadata({ a: 'a1b2', conversation_id: 'other' }),
      withMetadata({ conversation_id: 'a1b2' }),
      aRun(),
    ],
  ),
  row(
    `and(eq(name, 'ChatOpenAI'), eq(metadata_key, 'conversation_id'), eq(metadata_value, '${UUID}'))`,
    [{ ...withMetadata({ conversation_id: UUID }), name: 'ChatOpenAI' }],
    [withMetadata({ conversation_id: UUID }), named('ChatOpenAI')],
  ),
  row('eq(name, "RetrieveDocs")', [named('RetrieveDocs')], [named('ExpandQuery')]),
  row('eq(name, "ExpandQuery")', [named('ExpandQuery')], [named('RetrieveDocs')]),
  row(
    'and(eq(is_root, true), and(eq(feedback_key, "user_score"), eq(feedback_score, 1)))',
    [scored('user_score', 1)],
    [{ ...scored('user_score', 1), isRoot: false }],
  ),
  row(
    "and(eq(is_root, true), and(eq(metadata_key, 'model'), eq(metadata_value, 'gpt-4')))",
    [withMetadata({ model: 'gpt-4' })],
    [withMetadata({ model: 'gpt-5', other: 'gpt-4' })],
  ),
  row(
    'and(eq(run_type, "llm"), eq(name, "ChatOpenAI"), eq(input_key, "messages.content"), like(input_value, "%messages.content%"))',
    [
      aRun({
        runType: 'llm',
        name: 'ChatOpenAI',
        inputs: '{"messages":[{"content":"the messages.content here"}]}',
        inputPairs: [{ key: 'messages.content', value: 'the messages.content here' }],
      }),
    ],
    [
      aRun({
        runType: 'llm',
        name: 'ChatOpenAI',
        inputs: '{"messages":{"content":"messages content"}}',
        inputPairs: [{ key: 'messages.content', value: 'messages content' }],
      }),
    ],
  ),
  row(
    'and(gt(start_time, "2026-01-01T00:00:00+00:00"), lt(end_time, "2026-01-02T00:00:00.000001+00:00"))',
    [aRun(), aRun({ endTime: at('2026-01-02T00:00:00Z') })],
    [
      aRun({ endTime: at('2026-01-02T00:00:00.000001Z') }),
      aRun({ startTime: at('2026-01-01') }),
      aRun({ endTime: undefined }),
    ],
  ),
  row(String.raw`eq(thread_id, "a\"b")`, [aRun({ threadId: 'a"b' })], [aRun({ threadId: 'a' }), aRun()]),
  row('eq(status, "error")', [failed], [aRun()]),
  row('eq(status, "success")', [aRun()], [failed]),
  row('has(tags, "production")', [tagged('production')], [tagged('Production')]),
  row('has(tags, "env:prod")', [tagged('env:prod')], [tagged('env', 'prod')]),
  row(String.raw`has(tags, "team:\"core\"")`, [tagged('team:"core"')], [tagged('team:core')]),
  row(
    'and(eq(run_type, "llm"), gt(latency, 5))',
    [lasting(6, { runType: 'llm' })],
    [lasting(6), lasting(5, { runType: 'llm' })],
  ),
  row(`eq(trace_id, "${UUID}")`, [aRun({ traceId: UUID })], [aRun()]),
  row(`eq(id, "${UUID.toUpperCase()}")`, [aRun({ id: UUID, traceId: UUID })], [aRun()]),
  row(
    `and(not(has(metadata, '{"foo": "bar"}')), exists(metadata, "tenant_id"))`,
    [withMetadata({ tenant_id: 't' }), withMetadata({ tenant_id: 't', foo: 'baz' })],
    [withMetadata({ tenant_id: 't', foo: 'bar' }), withMetadata({ foo: 'baz' }), aRun()],
  ),
  row(
    `has("metadata", '{"foo": "bar"}')`,
    [withMetadata({ foo: 'bar', a: 'b' })],
    [withMetadata({ foo: 'b', a: 'bar' }), aRun()],
  ),
  row(
    "and(eq(metadata_key,'test_run'),eq(metadata_value,'x'))",
    [withMetadata({ test_run: 'x' })],
    [withMetadata({ test_run: 'y' })],
  ),
  row(
    'and(eq(is_root, true), eq(feedback_key, "prompt_intent"))',
    [aRun({ feedback: [{ key: 'prompt_intent' }] })],
    [aRun()],
  ),
  row('lte(total_tokens, 5000)', [aRun({ totalTokens: 5000 })], [aRun({ totalTokens: 5001 }), aRun()]),
  row('not(lte(total_tokens, 5000))', [aRun({ totalTokens: 5001 }), aRun()], [aRun({ totalTokens: 5000 })]),
  row('in(metadata_key, ["channel_id"])', [withMetadata({ channel_id: 'c' })], [aRun()]),
  row('search(name, "my-agent")', [named('this is My-Agent')], [aRun({ inputs: '{"a":"my-agent"}' })]),

  // what the documents leave open
  row('neq(error, "Error: boom")', [aRun(), aRun({ error: 'x' })], [failed]),
  row('eq(error, null)', [aRun()], [failed]),
  row('like(error, "%boom")', [failed], [aRun()]),
  row('neq(thread_id, "t")', [aRun(), aRun({ threadId: 'u' })], [aRun({ threadId: 't' })]),
  row('eq(end_time, null)', [aRun({ endTime: undefined })], [aRun()]),
  row(
    'gt(total_cost, 0.1)',
    [aRun({ totalCost: '0.1000000001' })],
    [aRun({ totalCost: '0.1000000000' }), aRun()],
  ),
  row(
    'eq(total_cost, 12345678.1234567891)',
    [aRun({ totalCost: '12345678.1234567891' })],
    [aRun({ totalCost: '12345678.1234567892' })],
  ),
  row('in(name, ["a%", "b_"])', [named('a%'), named('b_')], [named('ab'), named('bc')]),
  row('in(name, [])', [], [aRun()]),
  row('not(in(thread_id, ["t"]))', [aRun(), aRun({ threadId: 'u' })], [aRun({ threadId: 't' })]),
  row(String.raw`like(name, "100\\%")`, [named('100\\ percent')], [named('100%')]),
  row('like(name, "a_c%")', [named('abc'), named('a😀cde')], [named('ac'), named('xabc')]),
  row('eq(name, "%")', [named('%')], [named('x')]),
  row(`eq(name, "'; DROP TABLE runs; --")`, [named("'; DROP TABLE runs; --")], [named('x')]),
  row('search("50%")', [named('50% off')], [named('50 off')]),
  row(
    'search("😀")',
    [aRun({ inputs: '{"a":"x😀"}' }), aRun({ inputs: '{"a":"\\ud83d\\ude00"}' }), tagged('😀')],
    [aRun()],
  ),
  row(
    'search("hé\\"")',
    [aRun({ inputs: '{"a":"hé\\""}' }), aRun({ outputs: '{"a":"h\\u00e9\\""}' }), named('HÉ"')],
    [aRun({ inputs: '{"a":"hé"}' })],
  ),
  row(
    'search("äö é")',
    [
      aRun({ inputs: '{"a":"\\u00c4\\u00d6 \\u00e9"}' }),
      aRun({ outputs: '{"a":"Ä\\u00f6 É"}' }),
      withMetadata({ a: 'ÄÖ É' }),
    ],
    [aRun({ inputs: '{"a":"\\u00c4o \\u00e9"}' })],
  ),
  row(
    'search("fish & <b>chips/peas</b> it\'s 1+1=2")',
    [
      aRun({
        inputs:
          '{"a":"fish \\u0026 \\u003cb\\u003echips\\/peas\\u003c/b\\u003e it\\u0027s 1\\u002B1\\u003d2"}',
      }),
      aRun({ outputs: '{"a":"Fish & <B>Chips/Peas</b> it\'s 1+1=2"}' }),
    ],
    [aRun({ inputs: '{"a":"fish u0026 <b>chips/peas</b> it\'s 1+1=2"}' })],
  ),
  row('search("a.b+(c)")', [aRun({ inputs: '{"a":"A.B+(C)"}' })], [aRun({ inputs: '{"a":"axb+(c)"}' })]),
  row(
    'search("tab\\there")',
    [aRun({ inputs: '{"a":"tab\\u0009here"}' })],
    [aRun({ inputs: '{"a":"tabthere"}' })],
  ),
  row('search(outputs, "a\\nb")', [aRun({ outputs: '{"a":"a\\nb"}' })], [named('a\nb')]),
  row(
    'search(metadata, "tenant")',
    [withMetadata({ tenant: 'x' }), withMetadata({ a: 'Tenant' })],
    [named('tenant')],
  ),
  row(
    'has(metadata, \'{"a": [1], "b": {"c": null}}\')',
    [aRun({ metadata: '{"a":[2,1.0],"b":{"c":null,"d":1}}' })],
    [aRun({ metadata: '{"a":[2],"b":{"c":null}}' }), aRun({ metadata: '{"a":1,"b":{}}' })],
  ),
  row(
    'exists(metadata, "a")',
    [aRun({ metadata: '{"a":null}' })],
    [aRun({ metadata: '["a"]' }), aRun({ metadata: '{"b":{"a":1}}' })],
  ),
  row(
    'and(eq(metadata_key, "env"), or(eq(metadata_value, "prod"), eq(metadata_value, "stage")))',
    [withMetadata({ env: 'stage' })],
    [withMetadata({ env: 'dev', other: 'prod' })],
  ),
  row(
    'and(eq(metadata_key, "env"), not(eq(metadata_value, "prod")))',
    [withMetadata({ env: 'stage', other: 'prod' })],
    [withMetadata({ env: 'prod', other: 'stage' }), aRun()],
  ),
  row('not(eq(metadata_value, "prod"))', [aRun(), withMetadata({ a: 'b' })], [withMetadata({ a: 'prod' })]),
  row(
    'and(and(eq(metadata_key, "a"), eq(metadata_value, "1")), and(eq(metadata_key, "b"), eq(metadata_value, 2)))',
    [withMetadata({ a: '1', b: '2' })],
    [withMetadata({ a: '2', b: '1' })],
  ),
  row(
    'and(eq(feedback_key, "k"), gt(feedback_score, 1), lt(feedback_score, 3), neq(feedback_source, "model"))',
    [
      aRun({ feedback: [{ key: 'k', score: 2 }] }),
      aRun({ feedback: [{ key: 'k', score: 2, source: 'api' }] }),
    ],
    [
      aRun({ feedback: [{ key: 'k', score: 2, source: 'model' }] }),
      aRun({
        feedback: [
          { key: 'k', score: 1 },
          { key: 'k', score: 3 },
        ],
      }),
    ],
  ),
  row('neq(feedback_score, 1)', [aRun(), scored('a', 2)], [scored('a', 1)]),
  row(
    'or(eq(output_key, "a"), eq(output_value, true))',
    [aRun({ outputs: '{"b":true}', outputPairs: [{ key: 'b', value: 'true' }] })],
    [aRun({ outputs: '{"b":"a"}', outputPairs: [{ key: 'b', value: 'a' }] })],
  ),
  row('eq(execution_order, 1)', [aRun()], []),
  row('like(metadata_value, "%x%")', [withMetadata({ a: 'axb' })], [withMetadata({ x: 'a' })]),
];
