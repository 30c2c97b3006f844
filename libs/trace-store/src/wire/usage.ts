import {
  type ByteRange,
  eachItem,
  eachMember,
  expectEnd,
  type JsonWalk,
  OPEN_ARRAY,
  OPEN_OBJECT,
} from '#lib/json';
import type { Instant } from '#lib/time';
import { parseRange } from './parse-range.js';
import { cacheTokensApart, type UsageDetails, usageDetailsOf } from '../usage/usage-details.js';
import { cost, tokens } from '../usage/usage-values.js';
import { parseWireTime } from './wire-time.js';
import { validatePayload, WHOLE_PAYLOAD } from './whole-payload.js';

/** Tokens and costs of one call of a model, as far as they are known. Costs are decimal texts. */
export interface Usage {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly totalTokens?: number;
  readonly promptCost?: string;
  readonly completionCost?: string;
  readonly totalCost?: string;
  readonly details?: UsageDetails | undefined;
  /** A sum of its tokens was larger than {@link MAX_TOKENS}, which stands in its place. */
  readonly isClamped?: true;
}

/**
 * The most tokens of one run: above it numbers are not exact, and a thousand generations of a client that counts wrong
 * are beyond bigint.
 */
export const MAX_TOKENS = Number.MAX_SAFE_INTEGER;

function clamped(usage: Usage): Usage {
  const { promptTokens = 0, completionTokens = 0, totalTokens = 0 } = usage;
  if (Math.max(promptTokens, completionTokens, totalTokens) <= MAX_TOKENS) return usage;
  const least = (count: number | undefined): number | undefined =>
    count === undefined ? undefined : Math.min(count, MAX_TOKENS);
  return {
    ...usage,
    promptTokens: least(usage.promptTokens),
    completionTokens: least(usage.completionTokens),
    totalTokens: least(usage.totalTokens),
    isClamped: true,
  };
}

/** Reads `{input_tokens, output_tokens, total_tokens, input_cost, output_cost, total_cost}` and the older names. */
export function usageOf(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const found = value as Readonly<Record<string, unknown>>;
  const apart = cacheTokensApart(found);
  const counted = tokens(found['input_tokens']) ?? tokens(found['prompt_tokens']);
  const promptTokens =
    counted === undefined || !apart
      ? counted
      : counted + (apart['cache_read'] ?? 0) + (apart['cache_creation'] ?? 0);
  const completionTokens = tokens(found['output_tokens']) ?? tokens(found['completion_tokens']);
  const sum =
    promptTokens === undefined && completionTokens === undefined
      ? undefined
      : (promptTokens ?? 0) + (completionTokens ?? 0);
  const usage: Usage = {
    promptTokens,
    completionTokens,
    totalTokens: tokens(found['total_tokens']) ?? sum,
    promptCost: cost(found['input_cost']) ?? cost(found['prompt_cost']),
    completionCost: cost(found['output_cost']) ?? cost(found['completion_cost']),
    totalCost: cost(found['total_cost']),
    details: usageDetailsOf(found, apart),
  };
  return Object.values(usage).some((entry) => entry !== undefined) ? clamped(usage) : undefined;
}

/** Where langchain-core 0.3 leaves the usage of a message. */
const IN_GENERATION = ['message', 'kwargs', 'usage_metadata'];
const USAGE_NAME = Buffer.from('"usage_metadata"');
/** Generations of one run that are looked at. */
const MAX_GENERATIONS = 1_000;

/** The value under a path of names. */
function* findValue(bytes: Buffer, at: number, path: readonly string[]): JsonWalk<unknown> {
  const [wanted, ...rest] = path;
  let found: unknown;
  if (bytes[at] !== OPEN_OBJECT) return undefined;
  function* look(range: ByteRange): JsonWalk<void> {
    found = rest.length === 0 ? parseRange(bytes, range) : yield* findValue(bytes, range.start, rest);
  }
  yield* eachMember(bytes, at, (name, range) => (name === wanted ? look(range) : undefined));
  return found;
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0);
}

/** The usage of all `generations[][].message.kwargs.usage_metadata` together, as later versions of the library state it. */
function* usageInGenerations(outputs: Buffer, { start, end }: ByteRange): JsonWalk<Usage | undefined> {
  // most generations have none, and need not be taken apart again
  if (outputs[start] !== OPEN_ARRAY || !outputs.subarray(start, end).includes(USAGE_NAME)) return undefined;
  let sum: Usage | undefined;
  let left = MAX_GENERATIONS;
  function* visit(item: ByteRange): JsonWalk<boolean> {
    const usage = usageOf(yield* findValue(outputs, item.start, IN_GENERATION));
    if (usage)
      sum = clamped({
        ...{ ...usage, ...sum },
        promptTokens: added(sum?.promptTokens, usage.promptTokens),
        completionTokens: added(sum?.completionTokens, usage.completionTokens),
        totalTokens: added(sum?.totalTokens, usage.totalTokens),
      });
    return --left > 0;
  }
  yield* eachItem(outputs, start, function* (prompt) {
    if (outputs[prompt.start] === OPEN_ARRAY) yield* eachItem(outputs, prompt.start, visit);
    return left > 0;
  });
  return sum;
}

/**
 * Usage inside a run's outputs: `usage_metadata`, else that of the messages of `generations`, else `usage` as models'
 * own clients answer it, else the `llm_output.token_usage` of older clients. Validates the JSON.
 * @throws JsonSyntaxError
 */
export function* usageInOutputs(outputs: Buffer): JsonWalk<Usage | undefined> {
  let usage: Usage | undefined;
  let generated: Usage | undefined;
  let own: Usage | undefined;
  let older: Usage | undefined;
  if (outputs[0] !== OPEN_OBJECT) return yield* validatePayload(outputs);
  function* generations(range: ByteRange): JsonWalk<void> {
    generated = yield* usageInGenerations(outputs, range);
  }
  const visit = (name: string, range: ByteRange): JsonWalk<unknown> | void => {
    if (name === 'usage_metadata') usage = usageOf(parseRange(outputs, range));
    else if (name === 'usage') own = usageOf(parseRange(outputs, range));
    else if (name === 'generations') return generations(range);
    else if (name === 'llm_output' && outputs[range.start] === OPEN_OBJECT)
      return eachMember(outputs, range.start, (inner, innerRange) => {
        if (inner === 'token_usage' || inner === 'tokenUsage')
          older = usageOf(camelToSnake(parseRange(outputs, innerRange)));
      });
    return undefined;
  };
  expectEnd(outputs, yield* eachMember(outputs, 0, visit, WHOLE_PAYLOAD));
  return usage ?? generated ?? own ?? older;
}

function camelToSnake(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [
      name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`),
      entry,
    ]),
  );
}

/** Events of one run in which the first token is looked for; it comes right after the start. */
const MAX_EVENTS = 1000;

/** Time of the first `new_token` event. Validates the JSON. @throws JsonSyntaxError */
export function* firstTokenTime(events: Buffer): JsonWalk<Instant | undefined> {
  let time: Instant | undefined;
  let left = MAX_EVENTS;
  if (events[0] !== OPEN_ARRAY) return yield* validatePayload(events);
  function* visit(item: ByteRange): JsonWalk<boolean> {
    if (left-- <= 0) return false;
    if (events[item.start] !== OPEN_OBJECT) return true;
    let isToken = false;
    let at: ByteRange | undefined;
    yield* eachMember(events, item.start, (name, range) => {
      if (name === 'name') isToken = parseRange(events, range) === 'new_token';
      else if (name === 'time') at = range;
    });
    if (isToken && at) time = parseWireTime(parseRange(events, at));
    return !isToken;
  }
  expectEnd(events, yield* eachItem(events, 0, visit, WHOLE_PAYLOAD));
  return time;
}
