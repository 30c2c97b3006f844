import { setImmediate } from 'node:timers/promises';
import type { RE2JS } from 're2js';
import { errorText } from '#lib/errors';

/** A pattern that is matched in time linear in the text, whatever it is. */
export interface PricePattern {
  /** Maximum cost of examining a character, in steps. */
  readonly size: number;
  isIn(text: string): boolean;
}

/**
 * Maximum number of steps for a character: the longest name of a model is matched in a millisecond or two.
 */
const MAX_SIZE = 500;
/** Repetitions multiply the size before it is known: `((a{100}){100}){100}` would take memory and seconds. */
const MAX_REPETITIONS = 200;
/** Classes by property (`\pL`, `\P{Greek}`): each holds tables of up to six kilobytes. */
const MAX_PROPERTIES = 8;
/** Ranges whose every character is looked up for its other cases: each may take ten milliseconds. */
const MAX_FOLDED_RANGES = 4;
/**
 * Memory of the patterns of all tenants that are remembered, as far as it is known; the oldest are evicted.
 */
const MAX_KNOWN_BYTES = 32 << 20;

/** Memory of a pattern, of each of its steps, and of a table; measured with re2js 2.10. */
const [PATTERN_BYTES, STEP_BYTES, PROPERTY_BYTES] = [8_000, 200, 6_000];
const REFUSED_BYTES = 1_000;

interface Made {
  readonly pattern: PricePattern | string;
  /** Memory that it takes, about. */
  readonly bytes: number;
}

const known = new Map<string, Made>();
let knownBytes = 0;

/**
 * Compiles a pattern, after yielding to other work.
 * @returns the pattern, or the reason why it cannot be used
 */
export async function tryPattern(source: string): Promise<PricePattern | string> {
  return (known.get(source) ?? (await make(source))).pattern;
}

/** Cached result for a stored pattern, which becomes the most recent. */
export function knownPattern(source: string): PricePattern | string | undefined {
  const before = known.get(source);
  if (!before) return undefined;
  known.delete(source);
  known.set(source, before);
  return before.pattern;
}

/** The same as `tryPattern` for a stored pattern: the result is cached until others evict it. */
export async function compilePattern(source: string): Promise<PricePattern | string> {
  const before = knownPattern(source);
  if (before !== undefined) return before;
  const made = await make(source);
  forget(source);
  known.set(source, made);
  knownBytes += made.bytes;
  for (const oldest of known.keys()) {
    if (knownBytes <= MAX_KNOWN_BYTES) break;
    forget(oldest);
  }
  return made.pattern;
}

function forget(source: string): void {
  knownBytes -= known.get(source)?.bytes ?? 0;
  known.delete(source);
}

async function make(source: string): Promise<Made> {
  const properties = propertiesIn(source);
  const refused = tooCostly(source, properties);
  if (refused !== undefined) return { pattern: refused, bytes: REFUSED_BYTES };
  // loaded by programs that price runs, and by no other program that opens the store
  const { RE2JS: engine } = await import('re2js');
  await setImmediate();
  const pattern = compile(engine, source);
  if (typeof pattern === 'string') return { pattern, bytes: REFUSED_BYTES };
  return { pattern, bytes: PATTERN_BYTES + pattern.size * STEP_BYTES + properties * PROPERTY_BYTES };
}

function propertiesIn(source: string): number {
  return source.match(/\\p/gi)?.length ?? 0;
}

/** Reason why a pattern would be expensive to compile, judged by its text; undefined when it is cheap. */
function tooCostly(source: string, properties: number): string | undefined {
  let repetitions = 1;
  for (const [, least = '', , most = ''] of source.matchAll(/\{(\d{1,9})(,(\d{0,9}))?\}/g))
    repetitions *= Math.max(1, Number(most || least));
  if (repetitions > MAX_REPETITIONS)
    return `its repetitions multiply to ${repetitions}, more than ${MAX_REPETITIONS}`;
  if (properties > MAX_PROPERTIES)
    return `it has ${properties} classes by property (\\p), more than ${MAX_PROPERTIES}; use ranges such as [a-z]`;
  const ranges = /\(\?[a-z^-]*i/i.test(source) ? (source.match(/-(?:\\x\{|[^\0-\x7f])/gu)?.length ?? 0) : 0;
  if (ranges > MAX_FOLDED_RANGES)
    return `it ignores case, (?i), in ${ranges} ranges that end beyond ASCII, more than ${MAX_FOLDED_RANGES}; leave (?i) or some of them out`;
  return undefined;
}

function compile(engine: typeof RE2JS, source: string): PricePattern | string {
  try {
    const pattern = engine.compile(source);
    const size = pattern.programSize();
    if (size > MAX_SIZE) return `it takes ${size} steps for a character, more than ${MAX_SIZE}`;
    return { size, isIn: (text) => pattern.matcher(text).find() };
  } catch (error) {
    return `${errorText(error)}; look-around and back-references are not supported`;
  }
}
