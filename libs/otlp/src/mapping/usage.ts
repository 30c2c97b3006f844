import type { JsonWalk } from '#lib/json';
import type { AttributeValue } from '../span.js';
import { asJson } from './json-text.js';
import type { TakenAttributes } from './taken-attributes.js';

type Names = readonly string[];

const INPUT: Names = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.prompt_tokens',
  'llm.token_count.prompt',
  'llm.usage.prompt_tokens',
  'ai.usage.inputTokens',
  'ai.usage.promptTokens',
  'ai.usage.tokens',
];
const OUTPUT: Names = [
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.completion_tokens',
  'llm.token_count.completion',
  'llm.usage.completion_tokens',
  'ai.usage.outputTokens',
  'ai.usage.completionTokens',
];
const TOTAL: Names = [
  'gen_ai.usage.total_tokens',
  'llm.token_count.total',
  'llm.usage.total_tokens',
  'ai.usage.totalTokens',
];
const COSTS: Readonly<Record<string, Names>> = {
  input_cost: ['gen_ai.usage.input_cost', 'llm.cost.prompt'],
  output_cost: ['gen_ai.usage.output_cost', 'llm.cost.completion'],
  total_cost: ['gen_ai.usage.cost', 'gen_ai.usage.total_cost', 'llm.cost.total', 'operation.cost'],
};
const INPUT_DETAILS: Readonly<Record<string, Names>> = {
  cache_read: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'gen_ai.usage.details.cache_read_tokens',
    'llm.token_count.prompt_details.cache_read',
    'ai.usage.inputTokenDetails.cacheReadTokens',
    'ai.usage.cachedInputTokens',
  ],
  cache_creation: [
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'gen_ai.usage.details.cache_write_tokens',
    'llm.token_count.prompt_details.cache_write',
    'ai.usage.inputTokenDetails.cacheWriteTokens',
  ],
  audio: ['llm.token_count.prompt_details.audio'],
};
const OUTPUT_DETAILS: Readonly<Record<string, Names>> = {
  reasoning: [
    'gen_ai.usage.details.reasoning_tokens',
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.reasoning_tokens',
    'llm.token_count.completion_details.reasoning',
    'ai.usage.outputTokenDetails.reasoningTokens',
    'ai.usage.reasoningTokens',
  ],
  audio: ['llm.token_count.completion_details.audio'],
};

/** A value that is not a number stays as it is, for the store to name. */
function number(value: AttributeValue | undefined): AttributeValue | undefined {
  const isNumber = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?(e[+-]?\d{1,2})?$/i.test(value);
  return isNumber ? Number(value) : value;
}

function sum(...counts: readonly (AttributeValue | undefined)[]): number | undefined {
  const numbers = counts.filter((count) => typeof count === 'number');
  return numbers.length === 0 ? undefined : numbers.reduce((one, other) => one + other, 0);
}

function numbers(
  span: TakenAttributes,
  table: Readonly<Record<string, Names>>,
): Readonly<Record<string, AttributeValue>> | undefined {
  const found = Object.entries(table).flatMap(([name, names]) => {
    const value = number(span.takeFirst(names));
    return value === undefined ? [] : [[name, value] as const];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Tokens and costs as the clients of LangChain state them, from which the columns of a run are taken: JSON. */
export function* usageOf(span: TakenAttributes): JsonWalk<string | undefined> {
  const own = span.take('langsmith.usage_metadata');
  const json = typeof own === 'string' ? yield* asJson(own) : undefined;
  if (json?.kind === 'object') return json.text;
  const [input, output] = [number(span.takeFirst(INPUT)), number(span.takeFirst(OUTPUT))];
  const total = number(span.takeFirst(TOTAL));
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total ?? sum(input, output),
    input_token_details: numbers(span, INPUT_DETAILS),
    output_token_details: numbers(span, OUTPUT_DETAILS),
    ...numbers(span, COSTS),
  };
  return Object.values(usage).some((value) => value !== undefined) ? JSON.stringify(usage) : undefined;
}
