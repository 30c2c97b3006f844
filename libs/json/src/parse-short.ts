import { parseJson } from './parse-json.js';

/**
 * Parses a text whose length is bounded by what writes it. Parsing blocks everything else, and takes up to twenty times
 * the length of the text: what may be long is walked through instead, or passed on as it is.
 * @throws Error for a longer text; SyntaxError
 */
export function parseShort(json: string, maxChars: number): unknown {
  if (json.length > maxChars)
    throw new Error(`parsing a JSON text: it has ${json.length} characters, and ${maxChars} is the most`);
  return parseJson(json);
}
