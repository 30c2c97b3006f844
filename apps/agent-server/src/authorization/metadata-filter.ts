import { isJsonObject, type JsonObject } from '#lib/json';
import { EVERY_ROW, sqlFilter, type MetadataFilter, type SqlFilter } from '../store/sql-filter.js';

function isScalar(value: unknown): value is string | number | boolean {
  // JSON has null for NaN, which rows without an owner may hold
  if (typeof value !== 'number') return ['string', 'boolean'].includes(typeof value);
  // a whole number beyond 2^53 equals its neighbours too
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** A Map or an instance of a class has no own entries, and would let everything through. */
function isPlain(value: unknown): value is JsonObject {
  return isJsonObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object);
}

/** A filter that could not be applied must not let anything through. */
function requireCondition(key: string, condition: unknown): void {
  if (isScalar(condition)) return;
  if (!isPlain(condition))
    throw new Error(`filter on ${key}: its value is neither a text, a number, a boolean nor an operator`);
  for (const [operator, operand] of Object.entries(condition))
    if (
      !isScalar(operand) &&
      !(operator === '$contains' && Array.isArray(operand) && operand.every(isScalar))
    )
      throw new Error(
        `filter on ${key}: the operand of ${operator} is neither a text, a number nor a boolean`,
      );
}

/**
 * Filter of an authorization handler: everything (nothing answered, or `true`), or rows that meet a filter.
 * @returns undefined when it refuses (`false`)
 * @throws Error for an answer that cannot be applied
 */
export function filterOf(answer: unknown): SqlFilter | undefined {
  if (answer === undefined || answer === null || answer === true) return EVERY_ROW;
  if (answer === false) return undefined;
  if (!isPlain(answer))
    throw new Error(
      `it answered a ${typeof answer} that is no filter; answer nothing, true, false or a filter`,
    );
  for (const [key, condition] of Object.entries(answer)) requireCondition(key, condition);
  return sqlFilter(answer as MetadataFilter);
}
