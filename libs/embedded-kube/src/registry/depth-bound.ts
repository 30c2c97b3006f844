import { isTextDeeperThan, isValueDeeperThan } from '#lib/json';
import { badRequest } from '#lib/kube-semantics';

/**
 * Deeper than any manifest, and far from where the recursion over an object would exhaust the stack: measured, objects
 * of 2,500 levels could not be written and some of 1,500 not be shown any more.
 */
const MAX_DEPTH = 500;

/** Throws 400 for JSON (or YAML in flow style) that is nested too deep, before it is parsed. */
export function checkTextDepth(text: string): void {
  if (isTextDeeperThan(text, MAX_DEPTH)) throw tooDeep();
}

/** Throws 400 for a value that is nested too deep: the result of a patch, of YAML, or of protobuf. */
export function checkValueDepth(value: unknown): void {
  if (isValueDeeperThan(value, MAX_DEPTH)) throw tooDeep();
}

function tooDeep() {
  return badRequest(`the object provided is nested deeper than ${MAX_DEPTH} levels: exceeded max depth`);
}
