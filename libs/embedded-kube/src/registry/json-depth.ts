import { badRequest } from '../status/errors.js';

/**
 * Deeper than any manifest, and far from where the recursion over an object would exhaust the stack: measured, objects
 * of 2,500 levels could not be written and some of 1,500 not be shown any more.
 */
const MAX_DEPTH = 500;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Throws 400 for JSON (or YAML in flow style) that is nested too deep, before anything is made of it. */
export function checkTextDepth(bytes: Buffer): void {
  if (bytes.length <= MAX_DEPTH) return;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (OPENING.has(byte) && ++depth > MAX_DEPTH) throw tooDeep();
    else if (CLOSING.has(byte)) depth--;
  }
}

/** Throws 400 for a value that is nested too deep: what patches of patches or YAML made. */
export function checkValueDepth(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw tooDeep();
    level = level.flatMap((item) =>
      typeof item === 'object' && item !== null
        ? Object.values(item).filter((child) => typeof child === 'object' && child !== null)
        : [],
    );
  }
}

function tooDeep() {
  return badRequest(`the object provided is nested deeper than ${MAX_DEPTH} levels: exceeded max depth`);
}
