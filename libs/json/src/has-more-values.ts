import { COMMA, QUOTE } from './json-codes.js';
import { endOfString } from './json-trouble.js';

/**
 * True when a JSON text holds more items and members than that, give or take one for each list and object:
 * some seventy bytes each once they are parsed, and two or three in the text.
 */
export function hasMoreValues(json: string, most: number): boolean {
  if (json.length <= 2 * most) return false;
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfString(json, at);
    else if (code === COMMA && ++values > most) return true;
  }
  return false;
}
