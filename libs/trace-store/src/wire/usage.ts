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
import { parseRange, parseWireTime } from './member-reader.js';
import { cost, tokens, type UsageDetails, usageDetailsOf } from '../usage/usage-details.js';
import { validatePayload, WHOLE_PAYLOAD } from './text-pieces.js';

/** Tokens and costs of one call of a model, as far as they are known. Costs are decimal texts. */
export interface Usage {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly totalTokens?: number;
  readonly promptCost?: string;
  readonly completionCost?: string;
  readonly totalCost?: string;
  readonly details?: UsageDetails | undefined;
  /** A sum of its tokens was larger than {@link MAX_TOKENS}, which replaces it. */
  readonly isClamped?: true;
  /** Names of members that state tokens or costs and were not understood. */
  readonly unread?: readonly string[];
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

/** Names of counts, in snake case; the first that is stated counts. */
const COUNTS = {
  prompt: ['prompt_tokens', 'input_tokens', 'prompt_token_count', 'tokens'],
  completion: ['output_tokens', 'completion_tokens', 'candidates_token_count'],
  total: ['total_tokens', 'total_token_count'],
} as const;
const COSTS = ['input_cost', 'prompt_cost', 'output_cost', 'completion_cost', 'total_cost'];
/** Names that a client uses for counts which leave out the cache and the reasoning. */
const WITHOUT_CACHE = ['cache_read_input_tokens', 'cache_creation_input_tokens', 'cache_write_input_tokens'];
const WITHOUT_REASONING = ['thoughts_token_count'];

const READ_AS: ReadonlyMap<string, (value: unknown) => unknown> = new Map<
  string,
  (value: unknown) => unknown
>([
  ...Object.values(COUNTS).flatMap((names) => names.map((name) => [name, count] as const)),
  ...[...WITHOUT_CACHE, ...WITHOUT_REASONING].map((name) => [name, tokens] as const),
  ...COSTS.map((name) => [name, cost] as const),
]);

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A count of tokens, or the `total` of an object that has its kinds as well. */
function count(value: unknown): number | undefined {
  return tokens(isObject(value) ? value['total'] : value);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
}

interface Side {
  readonly counted: number | undefined;
  /** Tokens of kinds that some senders count apart. */
  readonly kinds: number;
  /** True when the sender's names are those of one that counts them apart. */
  readonly isApart: boolean;
}

/**
 * Tokens of one side, with the kinds that its count leaves out: those that together exceed the count, and those that
 * the sender counts apart by its names, as far as the stated total has them.
 * @param left what a stated total has beside the counts of both sides
 */
function wholeOf({ counted, kinds, isApart }: Side, left: number | undefined): number | undefined {
  if (counted === undefined || kinds === 0) return counted;
  const isLeftOut = left === undefined ? isApart : isApart ? kinds <= left : kinds === left;
  return kinds > counted || isLeftOut ? counted + kinds : counted;
}

/**
 * Names of members that were not understood: the member itself, or numbers of kinds of tokens and costs in
 * it.
 */
function unreadAt(name: string, value: unknown): readonly string[] {
  const snake = snakeCase(name);
  if (isObject(value) && snake.endsWith('_details')) {
    const read = snake.includes('cost') ? cost : tokens;
    const kinds = Object.entries(value).filter(
      ([, one]) => typeof one === 'number' && read(one) === undefined,
    );
    return kinds.map(([kind]) => `${name}.${kind}`);
  }
  const read = READ_AS.get(snake);
  return read && (value ?? undefined) !== undefined && read(value) === undefined ? [name] : [];
}

/**
 * Reads `{input_tokens, output_tokens, total_tokens, input_cost, output_cost, total_cost}`, the older names, and those of
 * the clients of OpenAI, Anthropic, Gemini, Bedrock and the AI SDK. Undefined where nothing of these is stated.
 */
export function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const found = Object.fromEntries(Object.entries(value).map(([name, entry]) => [snakeCase(name), entry]));
  const first = (names: readonly string[]): number | undefined =>
    names.map((name) => count(found[name])).find((entry) => entry !== undefined);
  const details = usageDetailsOf(found);
  const { cache_read: read = 0, cache_creation: creation = 0 } = details?.promptTokens ?? {};
  const toolUse = tokens(found['tool_use_prompt_token_count']) ?? 0;
  const counted = first(COUNTS.prompt);
  const prompt: Side = {
    counted: counted === undefined ? undefined : counted + toolUse,
    kinds: read + creation,
    isApart: tokens(found['prompt_tokens']) === undefined && WITHOUT_CACHE.some((name) => name in found),
  };
  const completion: Side = {
    counted: first(COUNTS.completion),
    kinds: details?.completionTokens?.['reasoning'] ?? 0,
    isApart: WITHOUT_REASONING.some((name) => name in found),
  };
  const stated = first(COUNTS.total);
  const left = (promptTokens = 0): number | undefined =>
    stated === undefined ? undefined : stated - promptTokens - (completion.counted ?? 0);
  const promptTokens = wholeOf(prompt, left(prompt.counted));
  const completionTokens = wholeOf(completion, left(promptTokens));
  const isSummed = promptTokens !== prompt.counted || completionTokens !== completion.counted;
  const sum =
    promptTokens === undefined && completionTokens === undefined
      ? undefined
      : (promptTokens ?? 0) + (completionTokens ?? 0);
  const unread = Object.entries(value).flatMap(([name, entry]) => unreadAt(name, entry));
  const usage: Usage = {
    promptTokens,
    completionTokens,
    // a total that lacks the kinds which the counts left out is no total
    totalTokens: isSummed && sum !== undefined ? Math.max(stated ?? 0, sum) : (stated ?? sum),
    promptCost: cost(found['input_cost']) ?? cost(found['prompt_cost']),
    completionCost: cost(found['output_cost']) ?? cost(found['completion_cost']),
    totalCost: cost(found['total_cost']),
    details,
    ...(unread.length > 0 ? { unread } : {}),
  };
  return unread.length > 0 || hasFigures(usage) ? clamped(usage) : undefined;
}

/** The usage that a member of this name states; a usage of which nothing is understood is named. */
export function usageAt(name: string, value: unknown): Usage | undefined {
  const usage = usageOf(value);
  if (usage?.unread) return { ...usage, unread: usage.unread.map((member) => `${name}.${member}`) };
  if (usage || !isObject(value) || Object.keys(value).length === 0) return usage;
  const isOfModel = name !== 'usage' || Object.keys(value).some((member) => /token/i.test(member));
  const isStated = Object.values(value).some((entry) => typeof entry === 'number');
  return isOfModel && isStated ? { unread: [name] } : undefined;
}

/** True when any part of it was understood. */
export function hasFigures({ unread: _unread, ...figures }: Usage): boolean {
  return Object.values(figures).some((entry) => entry !== undefined);
}

/** The first that has figures, else the first that was not understood. */
function firstUsage(found: readonly (Usage | undefined)[]): Usage | undefined {
  return found.find((usage) => usage && hasFigures(usage)) ?? found.find((usage) => usage !== undefined);
}

/** Parts of names that usages have. */
const USAGE_NAMES = ['"usage', 'Usage"', '_usage"'].map((name) => Buffer.from(name));
/** Number of generations of one run that are examined. */
const MAX_GENERATIONS = 1_000;
/** Depth of objects in which usage is searched: an answer, its message, its serialized form, its metadata. */
const MAX_DEPTH = 4;

function hasUsage(bytes: Buffer, { start, end }: ByteRange): boolean {
  const part = bytes.subarray(start, end);
  return USAGE_NAMES.some((name) => part.includes(name));
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : one + (other ?? 0);
}

/** The usage of all `generations[][]` together, as later versions of the library state it in their messages. */
function* usageInGenerations(outputs: Buffer, range: ByteRange): JsonWalk<Usage | undefined> {
  // most generations have none, and need not be taken apart again
  if (outputs[range.start] !== OPEN_ARRAY || !hasUsage(outputs, range)) return undefined;
  let sum: Usage | undefined;
  let left = MAX_GENERATIONS;
  function* visit(item: ByteRange): JsonWalk<boolean> {
    const usage =
      outputs[item.start] === OPEN_OBJECT ? (yield* usageInAnswer(outputs, item.start, 1)).usage : undefined;
    if (usage)
      sum = clamped({
        ...usage,
        ...sum,
        promptTokens: added(sum?.promptTokens, usage.promptTokens),
        completionTokens: added(sum?.completionTokens, usage.completionTokens),
        totalTokens: added(sum?.totalTokens, usage.totalTokens),
      });
    return --left > 0;
  }
  yield* eachItem(outputs, range.start, function* (prompt) {
    if (outputs[prompt.start] === OPEN_ARRAY) yield* eachItem(outputs, prompt.start, visit);
    return left > 0;
  });
  return sum;
}

/** Members in which usage is stated or looked for, in the order in which they count. */
export const PLACES: ReadonlyMap<string, 'usage' | 'generations' | 'object'> = new Map([
  ['usage_metadata', 'usage'],
  ['usageMetadata', 'usage'],
  ['generations', 'generations'],
  ['usage', 'usage'],
  ['token_usage', 'usage'],
  ['tokenUsage', 'usage'],
  ['response_metadata', 'object'],
  ['responseMetadata', 'object'],
  ['llm_output', 'object'],
  ['llmOutput', 'object'],
  ['kwargs', 'object'],
  ['message', 'object'],
  ['output', 'object'],
]);
const RANKS = [...PLACES.keys()];

/** The usage in an object of an answer, and where the object ends. */
function* usageInAnswer(
  bytes: Buffer,
  at: number,
  depth = 0,
): JsonWalk<{ readonly usage: Usage | undefined; readonly end: number }> {
  const found: (Usage | undefined)[] = RANKS.map(() => undefined);
  function* look(rank: number, range: ByteRange): JsonWalk<void> {
    found[rank] =
      RANKS[rank] === 'generations'
        ? yield* usageInGenerations(bytes, range)
        : (yield* usageInAnswer(bytes, range.start, depth + 1)).usage;
  }
  const visit = (name: string, range: ByteRange): JsonWalk<void> | void => {
    const place = PLACES.get(name);
    const rank = RANKS.indexOf(name);
    if (place === 'usage') found[rank] = usageAt(name, parseRange(bytes, range));
    else if (place === 'generations') return depth === 0 ? look(rank, range) : undefined;
    else if (place === 'object' && depth < MAX_DEPTH && bytes[range.start] === OPEN_OBJECT)
      return hasUsage(bytes, range) ? look(rank, range) : undefined;
    return undefined;
  };
  const end = yield* eachMember(bytes, at, visit, WHOLE_PAYLOAD);
  return { usage: firstUsage(found), end };
}

/**
 * Usage inside a run's outputs: `usage_metadata`, else that of the messages of `generations`, else `usage` as models'
 * own clients answer it, else that of a message, else the `llm_output.token_usage` of older clients. Validates the JSON.
 * @throws JsonSyntaxError
 */
export function* usageInOutputs(outputs: Buffer): JsonWalk<Usage | undefined> {
  if (outputs[0] !== OPEN_OBJECT) return yield* validatePayload(outputs);
  const { usage, end } = yield* usageInAnswer(outputs, 0);
  expectEnd(outputs, end);
  return usage;
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
