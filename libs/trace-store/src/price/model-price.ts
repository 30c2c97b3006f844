import type { Instant } from '#lib/time';

/** Digits after the point that a price of a token may have: a hundredth of a cent for 10,000 million tokens is seen. */
const PRICE_DIGITS = 15;
/** Decimal digits that a cost of a run has. */
const COST_DIGITS = 10;
/** Dollars for a token. */
const MOST = 1_000;

const DECIMAL = /^(\d{1,20})(?:\.(\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i;

/**
 * A price as its plain decimal text, `2.5e-6` as `0.0000025`. A number is rounded to the digits of a price, a
 * text has to fit.
 * @returns undefined for a value that is not a price
 */
export function parsePrice(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 && value <= MOST
      ? plainPrice(value.toFixed(PRICE_DIGITS))
      : undefined;
  return typeof value === 'string' ? plainPrice(value) : undefined;
}

function plainPrice(text: string): string | undefined {
  const [, whole, part = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return undefined;
  // places that the digits are moved to the right
  const scale = part.length - Number(exponent);
  const digits = BigInt(whole + part);
  const tooFine = scale > PRICE_DIGITS ? 10n ** BigInt(scale - PRICE_DIGITS) : 1n;
  if (digits % tooFine !== 0n) return undefined;
  const units = scale > PRICE_DIGITS ? digits / tooFine : digits * 10n ** BigInt(PRICE_DIGITS - scale);
  return units <= BigInt(MOST) * 10n ** BigInt(PRICE_DIGITS) ? plainText(units) : undefined;
}

/** A price in units of 1e-15. @param text as `parsePrice` answers it */
export function priceUnits(text: string): bigint {
  const [whole = '0', part = ''] = text.split('.');
  return BigInt(whole + part.slice(0, PRICE_DIGITS).padEnd(PRICE_DIGITS, '0'));
}

/** Units of 1e-15 as a decimal without zeros at its end. */
export function plainText(units: bigint): string {
  const digits = String(units).padStart(PRICE_DIGITS + 1, '0');
  const part = digits.slice(-PRICE_DIGITS).replace(/0+$/, '');
  return `${digits.slice(0, -PRICE_DIGITS)}${part === '' ? '' : `.${part}`}`;
}

const PER_COST_UNIT = 10n ** BigInt(PRICE_DIGITS - COST_DIGITS);
/** NUMERIC(18,10) holds less. */
const MOST_COST = 10n ** 18n;

/** Units of 1e-15 in those of a cost, 1e-10, rounded half up. */
export function costUnits(units: bigint): bigint {
  return (units + PER_COST_UNIT / 2n) / PER_COST_UNIT;
}

/** The text of a cost with its ten digits after the point; undefined when the column cannot hold it. */
export function costText(units: bigint): string | undefined {
  if (units >= MOST_COST) return undefined;
  const digits = String(units).padStart(COST_DIGITS + 1, '0');
  return `${digits.slice(0, -COST_DIGITS)}.${digits.slice(-COST_DIGITS)}`;
}

/** Limits of a workspace's prices. */
export const PRICE_LIMITS = {
  /** Rows of the workspace's own. */
  count: 500,
  name: 200,
  pattern: 200,
  provider: 100,
  /** Names of members in which a model is looked for, and their length. */
  members: 20,
  member: 100,
  /** Kinds of tokens with a price of their own, on each side. */
  details: 20,
  detail: 100,
} as const;

/** Members of `invocation_params`, and of metadata, that name the model, unless a row names others. */
export const DEFAULT_MEMBERS: readonly string[] = Object.freeze([
  'model',
  'model_name',
  'model_id',
  'model_path',
  'endpoint_name',
]);

/** Prices by kind of tokens, such as `cache_read`: dollars for one, as a decimal text. */
export type PriceDetails = Readonly<Record<string, string>>;

/** Token prices of some models, in dollars for one token, as decimal texts. */
export interface NewModelPrice {
  readonly name: string;
  /** RE2, found anywhere in the name of the model. */
  readonly matchPattern: string;
  /** Members that may name the model; `ls_model_name` always does. */
  readonly matchPath: readonly string[];
  /** Provider (`ls_provider`) whose runs the price is limited to. */
  readonly provider: string | undefined;
  /** Start time from which runs have the price. */
  readonly startTime: Instant | undefined;
  readonly promptCost: string;
  readonly completionCost: string;
  readonly promptCostDetails: PriceDetails | undefined;
  readonly completionCostDetails: PriceDetails | undefined;
}

/** A row of the price table. */
export interface ModelPrice extends NewModelPrice {
  readonly id: string;
  /** True when the platform brings it; a workspace may have overridden it with its own prices. */
  readonly isBuiltIn: boolean;
  /** True when the workspace wrote it. */
  readonly isOwn: boolean;
  /** No run is priced by it. */
  readonly isDisabled: boolean;
  /** Maximum number of tokens of the prompt. Rows of workspaces have no such limit. */
  readonly maxPromptTokens: number | undefined;
  /** A text that each name which matches the pattern has: others need not be examined. */
  readonly literal: string | undefined;
  /** Sources of the platform's prices, and the day (YYYY-MM-DD) on which they were read. */
  readonly sources: readonly string[];
  readonly readOn: string | undefined;
  readonly createdAt: Instant | undefined;
  readonly updatedAt: Instant | undefined;
}
