import type { RE2JS } from 're2js';
import { errorText } from '#lib/errors';

/** A pattern that is matched in time linear in the text, whatever it is. */
export interface PricePattern {
  /** What looking at a character may cost, in steps. */
  readonly size: number;
  isIn(text: string): boolean;
}

/** Steps for a character: the longest name of a model is looked at in a millisecond or two. */
const MAX_SIZE = 500;
/** Repetitions multiply the size before it is known: `((a{100}){100}){100}` would take memory and seconds. */
const MAX_REPETITIONS = 200;
/** Patterns of all tenants that are remembered. */
const MAX_KNOWN = 5_000;

const known = new Map<string, PricePattern | string>();

/** @returns the pattern, or why it cannot be used */
export async function compilePattern(source: string): Promise<PricePattern | string> {
  const before = known.get(source);
  if (before !== undefined) return before;
  // loaded by who prices runs, and by no other program that opens the store
  const { RE2JS: engine } = await import('re2js');
  const made = compile(engine, source);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(source, made);
  return made;
}

function compile(engine: typeof RE2JS, source: string): PricePattern | string {
  let repetitions = 1;
  for (const [, least = '', , most = ''] of source.matchAll(/\{(\d{1,9})(,(\d{0,9}))?\}/g))
    repetitions *= Math.max(1, Number(most || least));
  if (repetitions > MAX_REPETITIONS)
    return `its repetitions multiply to ${repetitions}, more than ${MAX_REPETITIONS}`;
  try {
    const pattern = engine.compile(source);
    const size = pattern.programSize();
    if (size > MAX_SIZE) return `it takes ${size} steps for a character, more than ${MAX_SIZE}`;
    return { size, isIn: (text) => pattern.matcher(text).find() };
  } catch (error) {
    return `${errorText(error)}; look-around and back-references are not supported`;
  }
}
