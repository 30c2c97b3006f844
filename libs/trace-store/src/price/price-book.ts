import { setImmediate } from 'node:timers/promises';
import type { Instant } from '#lib/time';
import { type ModelMembers, modelMembers } from './model-members.js';
import type { ModelPrice } from './model-price.js';
import { compilePattern, knownPattern } from './price-pattern.js';

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
