import { CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-codes.js';
import { endOfString } from './json-trouble.js';

/**
 * True when lists and objects in a text of JSON (or YAML in flow style) are nested deeper than `limit`,
 * before the text is parsed. Node parses any depth, then the recursion of everything else over the value
 * fails at a few thousand levels.
 */
export function isTextDeeperThan(json: string, limit: number): boolean {
  if (json.length <= limit) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > limit) return true;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--;
        break;
      default: // nothing that nests
    }
  }
  return false;
}

/** True when lists and objects in a value are nested deeper than `limit`; without recursion. */
export function isValueDeeperThan(value: unknown, limit: number): boolean {
  let level: readonly unknown[] = isNesting(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === limit) return true;
    level = level.flatMap((item) => (isNesting(item) ? Object.values(item).filter(isNesting) : []));
  }
  return false;
}

function isNesting(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
