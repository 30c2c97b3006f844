import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { parsePrice, PRICE_LIMITS } from '#lib/trace-store';
import { field, type InsideOptions, says } from '../wire/fields.js';

const PRICE = {
  anyOf: [
    { type: 'number', minimum: 0, maximum: 1000 },
    { type: 'string', maxLength: 64 },
  ],
};
const PRICE_TEXT = 'from 0 to 1000 with at most 15 digits after the point';

/** Dollars for a token: a number, or a decimal as text. */
export function Price(options: InsideOptions = {}): PropertyDecorator {
  return field(
    options,
    PRICE,
    ValidateBy(
      { name: 'isPrice', validator: { validate: (value) => parsePrice(value) !== undefined } },
      says(`Input should be a decimal ${PRICE_TEXT}`, 'decimal_parsing'),
    ),
  );
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** Prices by kind of tokens. */
export function PriceMap(options: InsideOptions = {}): PropertyDecorator {
  const { details, detail } = PRICE_LIMITS;
  const isMap = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value);
  const isSmall = (value: unknown): boolean => {
    const entries = entriesOf(value);
    return (
      entries.length <= details &&
      entries.every(([kind]) => kind.length <= detail && kind.isWellFormed() && !kind.includes('\0'))
    );
  };
  const hasPrices = (value: unknown): boolean =>
    entriesOf(value).every(([, price]) => parsePrice(price) !== undefined);
  return field(
    options,
    { type: 'object', additionalProperties: PRICE, maxProperties: details },
    ValidateBy(
      { name: 'isPriceMap', validator: { validate: isMap } },
      says('Input should be a valid object', 'dict_type'),
    ),
    ValidateBy(
      { name: 'isSmall', validator: { validate: isSmall } },
      says(`Object should have at most ${details} names of at most ${detail} characters`, 'too_long'),
    ),
    ValidateBy(
      { name: 'hasPrices', validator: { validate: hasPrices } },
      says(`Every value should be a decimal ${PRICE_TEXT}`, 'decimal_parsing'),
    ),
  );
}
