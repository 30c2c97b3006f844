import { findJsonTrouble, isJsonObject, parseJson, renderTrouble } from '#lib/json';
import { FilterError, shown } from '../filter-error.js';
import { FILTER_LIMITS } from '../limits.js';

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
