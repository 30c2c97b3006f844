import type { LabelRules } from './metric-definition.js';

/** Replacement of a bounded label's value that is one too many, or looks like personal data. */
const OTHER = 'other';
const MAX_CHARS = 120;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Holds the labels of one metric to their rules at run time: a value from outside must never make a new series. */
export class LabelGuard {
  readonly names: readonly string[];
  readonly #rules: LabelRules;
  readonly #seen = new Map<string, Set<string>>();

  constructor(rules: LabelRules) {
    this.#rules = rules;
    this.names = Object.keys(rules);
  }

  /** The values in the order of `names`. */
  values(labels: Readonly<Record<string, string>>): readonly string[] {
    return this.names.map((name) => this.#allowed(name, labels[name] ?? ''));
  }

  #allowed(name: string, value: string): string {
    const rule = this.#rules[name];
    if (rule === undefined || !('max' in rule)) return value;
    let seen = this.#seen.get(name);
    if (!seen) this.#seen.set(name, (seen = new Set()));
    if (seen.has(value)) return value;
    if (seen.size >= rule.max || value.length > MAX_CHARS || UUID.test(value)) return OTHER;
    seen.add(value);
    return value;
  }
}
