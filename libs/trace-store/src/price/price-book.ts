import { setImmediate } from 'node:timers/promises';
import type { RE2JS } from 're2js';
import { errorText } from '#lib/errors';
import type { Instant } from '#lib/time';
import { DEFAULT_MEMBERS, type ModelPrice } from './model-price.js';

/**
 * Members that may name a model beside `ls_model_name`, each with its rank, the least wins. A map: the prices of a workspace
 * may name ten thousand, and every member of a run's metadata is looked for.
 */
export type ModelMembers = ReadonlyMap<string, number>;

/** Members of these names, in this order, after those that name a model unless a price says otherwise. */
export function modelMembers(names: Iterable<string> = []): ModelMembers {
  const members = new Set([...DEFAULT_MEMBERS, ...names]);
  return new Map([...members].map((name, rank) => [name, rank]));
}

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

/** The model of a run, as its sender names it. */
export interface RunModel {
  readonly model: string;
  /** The member that named it; undefined for `ls_model_name`. */
  readonly modelMember: string | undefined;
  readonly provider: string | undefined;
}

interface Rule {
  readonly price: ModelPrice;
  readonly members: ReadonlySet<string>;
}

/** Models whose rules are remembered; the oldest are forgotten, but for those of a call that has more. */
const MAX_KNOWN = 2_000;
/**
 * Maximum number of steps of patterns for the models of one call, about a second, and before other requests
 * are served.
 */
const MAX_STEPS = 20_000_000;
const STEPS_AT_ONCE = 200_000;
/** Number of matching steps that take about as long as compiling a pattern. */
const COMPILING_STEPS = 50_000;
/** Memory of a model that is remembered, beside its name. */
const MODEL_BYTES = 200;

function byPrecedence(one: ModelPrice, other: ModelPrice): number {
  const ranks = [
    Number(other.isOwn) - Number(one.isOwn),
    Number(other.provider !== undefined) - Number(one.provider !== undefined),
    compare(other.startTime, one.startTime),
    (one.maxPromptTokens ?? Infinity) - (other.maxPromptTokens ?? Infinity) || 0,
    compare(other.createdAt, one.createdAt),
  ];
  return ranks.find((rank) => rank !== 0) ?? 0;
}

/** Compares start times; undefined comes first. */
function compare(one: Instant | undefined, other: Instant | undefined): number {
  if (one === other) return 0;
  return one === undefined || (other !== undefined && one < other) ? -1 : 1;
}

/**
 * Finds the price of a model: rows of the workspace before those of the platform, rows for the provider before those for
 * any, later starts before earlier ones, those of shorter prompts before those of any. Patterns are looked for once for each model, by `learn`.
 */
export class PriceBook {
  readonly #rules: readonly Rule[];
  /** Rules that match a model, regardless of their begin, by model. */
  readonly #known = new Map<string, readonly Rule[]>();
  #bytes = 0;
  readonly members: ModelMembers;

  private constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.members = modelMembers(rules.flatMap(({ price }) => price.matchPath));
  }

  static of(prices: readonly ModelPrice[]): PriceBook {
    const enabled = prices.filter(({ isDisabled }) => !isDisabled).sort(byPrecedence);
    return new PriceBook(enabled.map((price) => ({ price, members: new Set(price.matchPath) })));
  }

  /** Memory of the models that are remembered, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Looks for the prices of models that were not seen before. The work is limited: names that differ from run
   * to run are left out after a second's work, and the next call continues.
   */
  async learn(models: Iterable<RunModel>): Promise<void> {
    const unknown = new Map<string, RunModel>();
    const learnt = new Map<string, readonly Rule[]>();
    for (const model of models) {
      const key = keyOf(model);
      const rules = this.#known.get(key);
      if (rules) learnt.set(key, rules);
      else unknown.set(key, model);
    }
    const work = { steps: 0, pauseAt: STEPS_AT_ONCE };
    for (const [key, model] of unknown) {
      if (work.steps > MAX_STEPS) break;
      learnt.set(key, await this.#rulesOf(model, work));
    }
    this.#remember(learnt);
  }

  #remember(learnt: ReadonlyMap<string, readonly Rule[]>): void {
    for (const [key, rules] of learnt) {
      this.#forget(key);
      this.#known.set(key, rules);
      this.#bytes += bytesOf(key, rules);
    }
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN || learnt.has(oldest)) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    const rules = this.#known.get(key);
    if (!rules) return;
    this.#known.delete(key);
    this.#bytes -= bytesOf(key, rules);
  }

  /** @returns undefined when no row matches the model, and when it was not learnt */
  find(model: RunModel, startTime: Instant, promptTokens = 0): ModelPrice | undefined {
    const rules = this.#known.get(keyOf(model)) ?? [];
    return rules.find(
      ({ price: { startTime: from, maxPromptTokens = Infinity } }) =>
        (from === undefined || from <= startTime) && promptTokens <= maxPromptTokens,
    )?.price;
  }

  async #rulesOf(model: RunModel, work: { steps: number; pauseAt: number }): Promise<readonly Rule[]> {
    const found: Rule[] = [];
    for (const rule of this.#rules) {
      const { provider, literal = '' } = rule.price;
      if (!model.model.includes(literal)) continue;
      if (provider !== undefined && provider.toLowerCase() !== model.provider?.toLowerCase()) continue;
      if (model.modelMember !== undefined && !rule.members.has(model.modelMember)) continue;
      // no book holds a pattern: all tenants have one memory of them
      const before = knownPattern(rule.price.matchPattern);
      if (before === undefined) work.steps += COMPILING_STEPS;
      const pattern = before ?? (await compilePattern(rule.price.matchPattern));
      if (typeof pattern === 'string') continue;
      work.steps += pattern.size * (model.model.length + 1);
      if (work.steps > work.pauseAt) {
        await setImmediate();
        work.pauseAt = work.steps + STEPS_AT_ONCE;
      }
      if (pattern.isIn(model.model)) found.push(rule);
    }
    return found;
  }
}

function keyOf({ model, modelMember = '', provider = '' }: RunModel): string {
  return `${modelMember}\0${provider}\0${model}`;
}

function bytesOf(key: string, rules: readonly Rule[]): number {
  return 2 * key.length + 8 * rules.length + MODEL_BYTES;
}
