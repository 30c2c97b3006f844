import { ValidateBy } from 'class-validator/cjs/decorator/common/ValidateBy.js';
import { FEEDBACK_LIMITS } from '#lib/trace-store';
import { field, type InsideOptions, says } from '../wire/fields.js';

/** A number or a truth value. */
export function Score(options: InsideOptions = {}): PropertyDecorator {
  const max = FEEDBACK_LIMITS.score;
  const validate = (value: unknown): boolean =>
    typeof value === 'boolean' || (typeof value === 'number' && Math.abs(value) <= max);
  return field(
    options,
    { anyOf: [{ type: 'number', minimum: -max, maximum: max }, { type: 'boolean' }], nullable: true },
    ValidateBy(
      { name: 'isScore', validator: { validate } },
      says(`Input should be a number from -${max} to ${max}, or a boolean`, 'score_type'),
    ),
  );
}

interface JsonOptions extends InsideOptions {
  /** Maximum size of its JSON text. */
  readonly maxBytes: number;
  /** Objects and texts alone. */
  readonly isDocument?: boolean;
}

/** Any JSON value up to a length. */
export function AnyJson({ maxBytes, isDocument = false, ...options }: JsonOptions): PropertyDecorator {
  return field(
    options,
    isDocument
      ? { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'string' }], nullable: true }
      : { type: 'object', 'x-any-json': true },
    ...(isDocument
      ? [
          ValidateBy(
            { name: 'isDocument', validator: { validate: isObjectOrText } },
            says('Input should be an object or a string', 'dict_type'),
          ),
        ]
      : []),
    ValidateBy(
      {
        name: 'isStorable',
        validator: { validate: (value) => typeof value !== 'string' || isStorable(value) },
      },
      says('String should be well-formed Unicode without U+0000', 'string_unicode'),
    ),
    ValidateBy(
      {
        name: 'isSmall',
        validator: { validate: (value) => Buffer.byteLength(JSON.stringify(value) ?? '') <= maxBytes },
      },
      says(`Input should be at most ${maxBytes} bytes long`, 'too_long'),
    ),
  );
}

function isObjectOrText(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

/** Filters compare with it as text. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
