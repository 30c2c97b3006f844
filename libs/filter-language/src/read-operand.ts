import { findJsonTrouble, isJsonObject, parseJson, renderTrouble } from '#lib/json';
import { isUuid } from '#lib/resources';
import { parseInstant } from '#lib/time';
import { type Comparator, FIELD_TYPES, type FieldName, fieldRow, type FieldType } from './fields.js';
import { FilterError, nearestName, shown } from './filter-error.js';
import type { Operand } from './filter.js';
import { FILTER_LIMITS } from './limits.js';
import type { Syntax } from './syntax.js';

/** A decimal number without loss: `digits` × 10^-`scale`. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;

/** @param text a number of a filter, of JSON, or of Postgres */
export function parseDecimal(text: string): Decimal | undefined {
  const match = DECIMAL.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(sign + whole + fraction);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale };
}

/** Result of a comparison: below 0, 0 or above 0, as the first is less, equal or greater. */
export function compareDecimals(one: Decimal, other: Decimal): number {
  const a = one.digits * 10n ** BigInt(Math.max(0, other.scale - one.scale));
  const b = other.digits * 10n ** BigInt(Math.max(0, one.scale - other.scale));
  return a < b ? -1 : a > b ? 1 : 0;
}

const MICROS_PER_UNIT: Readonly<Record<string, bigint>> = {
  ms: 1_000n,
  s: 1_000_000n,
  m: 60_000_000n,
  h: 3_600_000_000n,
  d: 86_400_000_000n,
};

const DURATION = /^([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(ms|s|m|h|d)$/;

/** A century; Postgres' intervals and times end far beyond. */
const MAX_MICROS = 36_525n * 86_400_000_000n;

function micros(number: string, unit: bigint): bigint | undefined {
  const decimal = parseDecimal(number);
  if (!decimal) return undefined;
  const found = (decimal.digits * unit) / 10n ** BigInt(decimal.scale);
  return found > MAX_MICROS || found < -MAX_MICROS ? undefined : found;
}

/**
 * Microseconds of a duration with its unit, digits past them cut.
 * @returns undefined for other units and for more than a century
 */
function parseDuration(text: string): bigint | undefined {
  const match = DURATION.exec(text);
  const unit = MICROS_PER_UNIT[match?.[2] ?? ''];
  return unit === undefined ? undefined : micros(match?.[1] ?? '', unit);
}

/** The same of a number of seconds. */
function parseSeconds(number: string): bigint | undefined {
  return micros(number, 1_000_000n);
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** JSON has greater numbers than programs and databases can hold. */
function isFiniteThroughout(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isFiniteThroughout);
}

/**
 * The text of a JSON object that every reader understands alike.
 * @throws FilterError for anything else
 */
export function readJsonObject(text: string, at: number): string {
  const value = parse(text);
  if (!isJsonObject(value))
    throw new FilterError(
      `has(metadata, …) takes a JSON object in quotes; found ${shown(text)}; write has(metadata, '{"key": "value"}')`,
      at,
    );
  const trouble = findJsonTrouble(text, { maxDepth: FILTER_LIMITS.jsonLevels });
  if (trouble) throw new FilterError(`has(metadata, …), the JSON object: ${renderTrouble(trouble)}`, at);
  if (!isFiniteThroughout(value))
    throw new FilterError('has(metadata, …): a number of the JSON object is too large', at);
  return JSON.stringify(value);
}

/** Name of an argument in messages. */
export function describeSyntax(syntax: Syntax): string {
  switch (syntax.kind) {
    case 'text':
      return `the text ${shown(syntax.text)}`;
    case 'number':
      return `the number ${syntax.text}`;
    case 'name':
      return syntax.text;
    case 'list':
      return 'a list';
    case 'call':
      return `the condition ${syntax.name}(…)`;
    default:
      return syntax satisfies never;
  }
}

function booleanOf(syntax: Syntax): boolean | undefined {
  if (syntax.kind !== 'name') return undefined;
  return syntax.text === 'true' ? true : syntax.text === 'false' ? false : undefined;
}

function textOf(syntax: Syntax): string | undefined {
  return syntax.kind === 'text' ? syntax.text : undefined;
}

function scalarOf(syntax: Syntax): string | undefined {
  if (syntax.kind === 'number') return syntax.text;
  const boolean = booleanOf(syntax);
  return boolean === undefined ? textOf(syntax) : String(boolean);
}

function uuidOf(syntax: Syntax): string | undefined {
  const text = textOf(syntax);
  return isUuid(text) ? text.toLowerCase() : undefined;
}

function instantOf(syntax: Syntax): bigint | undefined {
  const text = textOf(syntax);
  return text === undefined ? undefined : parseInstant(text, { zone: 'optional' });
}

function durationOf(syntax: Syntax): bigint | undefined {
  if (syntax.kind === 'number') return parseSeconds(syntax.text);
  return syntax.kind === 'text' ? parseDuration(syntax.text) : undefined;
}

function numberOf(syntax: Syntax): string | undefined {
  return syntax.kind === 'number' ? syntax.text : undefined;
}

/** The value of a literal for each type that is compared; undefined when it is not of the type. */
const READ: Readonly<
  Record<Exclude<FieldType, 'tags' | 'object' | 'document'>, (syntax: Syntax) => Operand | undefined>
> = {
  uuid: uuidOf,
  text: textOf,
  name: textOf,
  word: textOf,
  time: instantOf,
  duration: durationOf,
  number: numberOf,
  boolean: booleanOf,
  scalar: scalarOf,
};

/** Suggested replacement, if one can be inferred. */
function hint(field: FieldName, syntax: Syntax): string {
  const { type, nullable } = fieldRow(field);
  if (syntax.kind === 'name' && syntax.text === 'null')
    return `; every run has ${field}, so there is nothing to compare with null`;
  if (syntax.kind === 'text' && (type === 'number' || type === 'boolean') && syntax.text !== '')
    return `; write ${shown(syntax.text).slice(1, -1)} without quotes, if that is meant`;
  if ((syntax.kind === 'name' || syntax.kind === 'number') && type !== 'number' && type !== 'boolean')
    return `; write "${syntax.text}", in quotes, if that is meant`;
  return nullable ? '; or null' : '';
}

function wrong(field: FieldName, syntax: Syntax): FilterError {
  const { type } = fieldRow(field);
  return new FilterError(
    `${field} is compared with ${FIELD_TYPES[type].takes}; found ${describeSyntax(syntax)}${hint(field, syntax)}`,
    syntax.at,
  );
}

function readWord(field: FieldName, word: string, at: number): string {
  const words = fieldRow(field).words ?? [];
  if (words.includes(word)) return word;
  const nearest = nearestName(word, words);
  throw new FilterError(
    `${field} is never ${shown(word)}; ${nearest === undefined ? '' : `did you mean "${nearest}"? `}it is one of ${words.join(', ')}`,
    at,
  );
}

function checkPairValue(field: FieldName, operator: Comparator, value: Operand, at: number): void {
  const { pairValueCharacters: most } = FILTER_LIMITS;
  if (typeof value !== 'string' || operator === 'like' || value.length <= most) return;
  throw new FilterError(
    `${field} is compared with the first ${most} characters of a value; found a longer text; use like(${field}, "…%") with its beginning`,
    at,
  );
}

function readOne(field: FieldName, operator: Comparator, syntax: Syntax): Operand {
  const { type, nullable, pair } = fieldRow(field);
  const mayBeNull = nullable && (operator === 'eq' || operator === 'neq');
  if (mayBeNull && syntax.kind === 'name' && syntax.text === 'null') return null;
  const read = type === 'tags' || type === 'object' || type === 'document' ? undefined : READ[type];
  const value = read?.(syntax);
  if (value === undefined) throw wrong(field, syntax);
  if (type === 'word' && typeof value === 'string') return readWord(field, value, syntax.at);
  if (type === 'scalar' && pair?.[0] !== 'feedback') checkPairValue(field, operator, value, syntax.at);
  return value;
}

/**
 * Operands that a field is compared with.
 * @returns the items of `in`, else one value
 * @throws FilterError when it does not fit the field's type
 */
export function readOperand(field: FieldName, operator: Comparator, syntax: Syntax): readonly Operand[] {
  if (operator !== 'in') return [readOne(field, operator, syntax)];
  if (syntax.kind !== 'list')
    throw new FilterError(
      `in(${field}, …) takes a list; found ${describeSyntax(syntax)}; write in(${field}, [value, …])`,
      syntax.at,
    );
  return syntax.items.map((item) => readOne(field, operator, item));
}
