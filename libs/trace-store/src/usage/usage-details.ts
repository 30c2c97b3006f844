/** A count of tokens; undefined for any other value. */
export function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(Math.round(value)) && value >= 0
    ? Math.round(value)
    : undefined;
}

const DECIMAL = /^(\d{1,20})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,3}))?$/i;
/** Digits after the point of NUMERIC(18,10), and what its units are below. */
const DIGITS = 10;
const MOST_UNITS = 10n ** 18n;

/**
 * Costs are NUMERIC(18,10); a value that does not fit is dropped rather than rounded beyond recognition.
 * Computed in decimals: a double has not all digits of a cost above 100,000.
 * @param value a text, or a number, whose shortest text has the digits that were sent
 */
export function cost(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  const [, whole, part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const shift = DIGITS + Number(exponent) - part.length;
  const units = rounded(BigInt(whole + part), shift);
  if (units >= MOST_UNITS) return undefined;
  const digits = String(units).padStart(DIGITS + 1, '0');
  return `${digits.slice(0, -DIGITS)}.${digits.slice(-DIGITS)}`;
}

/** Moved by so many decimal places, half up. */
function rounded(digits: bigint, shift: number): bigint {
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return (digits + divisor / 2n) / divisor;
}

/** Tokens by kind, such as `cache_read`, `audio` and `reasoning`. */
export type TokenDetails = Readonly<Record<string, number>>;
/** The same in dollars, as decimal texts. */
export type CostDetails = Readonly<Record<string, string>>;

/** Details of the tokens and costs of a run, as far as they are known. */
export interface UsageDetails {
  readonly promptTokens?: TokenDetails;
  readonly completionTokens?: TokenDetails;
  readonly promptCosts?: CostDetails;
  readonly completionCosts?: CostDetails;
}

/** Kinds of one side that are kept, and the length of their names. */
const MAX_KINDS = 20;
const MAX_NAME = 100;

/** Names that clients of models have for kinds of tokens, by those of LangChain. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ['cached_tokens', 'cache_read'],
  ['audio_tokens', 'audio'],
  ['reasoning_tokens', 'reasoning'],
  ['cacheRead', 'cache_read'],
  ['cacheReadTokens', 'cache_read'],
  ['cacheWrite', 'cache_creation'],
  ['cacheWriteTokens', 'cache_creation'],
  ['cachedTokens', 'cache_read'],
  ['noCache', 'no_cache'],
  ['noCacheTokens', 'no_cache'],
  ['reasoningTokens', 'reasoning'],
  ['textTokens', 'text'],
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

/** Kinds of tokens that clients of models state beside the counts of the two sides. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  cache_read: ['cache_read_input_tokens', 'cached_input_tokens', 'cached_content_token_count'],
  cache_creation: ['cache_creation_input_tokens', 'cache_write_input_tokens'],
};
const BESIDE_OUTPUT: Readonly<Record<string, readonly string[]>> = {
  reasoning: ['reasoning_tokens', 'thoughts_token_count'],
};

function beside(usage: Members, table: Readonly<Record<string, readonly string[]>>): TokenDetails {
  const found = Object.entries(table).flatMap(([kind, names]) => {
    const count = names.map((name) => tokens(usage[name])).find((value) => value !== undefined);
    return count === undefined ? [] : [[kind, count] as const];
  });
  return Object.fromEntries(found);
}

/** The details of one side; of names that mean the same the first that has any. */
function kindsOf(
  usage: Members,
  names: readonly string[],
  table: Readonly<Record<string, readonly string[]>>,
): TokenDetails | undefined {
  const given = names.map((name) => numbersIn(usage[name], tokens)).find((kinds) => kinds !== undefined);
  const { total: _whole, ...kinds } = { ...beside(usage, table), ...given };
  return Object.keys(kinds).length === 0 ? undefined : kinds;
}

/**
 * Reads `input_token_details`, `output_token_details` and the costs beside them, and the names that models' own clients
 * have.
 * @param usage with names in snake case
 */
export function usageDetailsOf(usage: Members): UsageDetails | undefined {
  return detailsOf({
    promptTokens: kindsOf(
      usage,
      ['input_token_details', 'prompt_tokens_details', 'input_tokens_details', 'input_tokens'],
      BESIDE,
    ),
    completionTokens: kindsOf(
      usage,
      ['output_token_details', 'completion_tokens_details', 'output_tokens_details', 'output_tokens'],
      BESIDE_OUTPUT,
    ),
    promptCosts: numbersIn(usage['input_cost_details'] ?? usage['prompt_cost_details'], cost),
    completionCosts: numbersIn(usage['output_cost_details'] ?? usage['completion_cost_details'], cost),
  });
}

/**
 * Details without empty members; undefined when none is left. Members have one order, so that equal ones have
 * one text.
 */
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
