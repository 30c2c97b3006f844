import { parseJson } from './parse-json.js';

/**
 * Parses a text whose length is bounded by its writer. Parsing blocks everything else, and takes up to twenty
 * times the length of the text: texts that may be long are walked through instead, or passed on as they are.
 * @throws Error for a longer text; SyntaxError
 */
export function parseShort(json: string, maxChars: number): unknown {
  if (json.length > maxChars)
    throw new Error(`parsing a JSON text: it has ${json.length} characters, and ${maxChars} is the most`);
  return parseJson(json);
}
