import { cost, tokens } from './usage-values.js';

/** By kind of tokens, such as `cache_read`, `audio` and `reasoning`. */
export type TokenDetails = Readonly<Record<string, number>>;
/** The same in dollars, as decimal texts. */
export type CostDetails = Readonly<Record<string, string>>;

/** What tokens and costs of a run consist of, as far as it is known. */
export interface UsageDetails {
  readonly promptTokens?: TokenDetails;
  readonly completionTokens?: TokenDetails;
  readonly promptCosts?: CostDetails;
  readonly completionCosts?: CostDetails;
}

/** Kinds of one side that are kept, and the length of their names. */
const MAX_KINDS = 20;
const MAX_NAME = 100;

/** Names of models' own clients, as those of LangChain have them. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['cached_tokens', 'cache_read'],
  ['audio_tokens', 'audio'],
  ['reasoning_tokens', 'reasoning'],
]);

type Members = Readonly<Record<string, unknown>>;

function numbersIn<T>(
  given: unknown,
  read: (value: unknown) => T | undefined,
): Readonly<Record<string, T>> | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
  const found: [string, T][] = [];
  for (const [name, value] of Object.entries(given)) {
    const kind = KINDS.get(name) ?? name;
    const number = read(value);
    if (number === undefined || kind.length > MAX_NAME || kind.includes('\0') || !kind.isWellFormed())
      continue;
    if (found.push([kind, number]) === MAX_KINDS) break;
  }
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Of Anthropic's own clients, which count these apart from the other tokens of a prompt. */
export function cacheTokensApart(usage: Members): TokenDetails | undefined {
  const [read, creation] = [
    tokens(usage['cache_read_input_tokens']),
    tokens(usage['cache_creation_input_tokens']),
  ];
  if (read === undefined && creation === undefined) return undefined;
  return { cache_read: read ?? 0, cache_creation: creation ?? 0 };
}

/** Reads `input_token_details`, `output_token_details` and the costs beside them, and the names that models' own clients have. */
export function usageDetailsOf(usage: Members, apart: TokenDetails | undefined): UsageDetails | undefined {
  const prompt =
    usage['input_token_details'] ?? usage['prompt_tokens_details'] ?? usage['input_tokens_details'];
  const completion =
    usage['output_token_details'] ?? usage['completion_tokens_details'] ?? usage['output_tokens_details'];
  const promptCosts = usage['input_cost_details'] ?? usage['prompt_cost_details'];
  const completionCosts = usage['output_cost_details'] ?? usage['completion_cost_details'];
  if (!prompt && !completion && !promptCosts && !completionCosts && !apart) return undefined;
  const found = {
    promptTokens: numbersIn(prompt, tokens) ?? apart,
    completionTokens: numbersIn(completion, tokens),
    promptCosts: numbersIn(promptCosts, cost),
    completionCosts: numbersIn(completionCosts, cost),
  };
  return detailsOf(found);
}

/** Without members that say nothing; undefined where none is left. Members have one order, so that equal ones have one text. */
export function detailsOf({
  promptTokens,
  completionTokens,
  promptCosts,
  completionCosts,
}: {
  readonly [Name in keyof UsageDetails]: UsageDetails[Name] | undefined;
}): UsageDetails | undefined {
  const found: UsageDetails = {
    ...(promptTokens ? { promptTokens } : {}),
    ...(completionTokens ? { completionTokens } : {}),
    ...(promptCosts ? { promptCosts } : {}),
    ...(completionCosts ? { completionCosts } : {}),
  };
  return Object.keys(found).length === 0 ? undefined : found;
}
