import { LabelGuard } from './label-guard.js';
import type { CounterDefinition, LabelRules, LabelValues } from './metric-definition.js';
import type { Sample } from './sample.js';

/** Maximum number of combinations that are shown before they happen. */
const MAX_INITIAL = 40;

/** Labels as an argument: none for a metric without any. */
export type LabelArgument<L extends LabelRules> = keyof L extends never ? [] : [labels: LabelValues<L>];

/**
 * A number that only grows. Closed label sets begin at 0 from the start, so that a rate sees the first
 * increase.
 */
export class Counter<L extends LabelRules = LabelRules> {
  readonly #guard: LabelGuard;
  readonly #cells = new Map<string, { readonly values: readonly string[]; count: number }>();

  constructor(readonly definition: CounterDefinition<L>) {
    this.#guard = new LabelGuard(definition.labels);
    for (const values of combinations(definition.labels)) this.#cell(values);
  }

  add(amount: number, ...[labels]: LabelArgument<L>): void {
    this.#cell(this.#guard.values(labels ?? {})).count += amount;
  }

  samples(): readonly Sample[] {
    return [...this.#cells.values()].map(({ values, count }) => ({
      labels: Object.fromEntries(this.#guard.names.map((name, at) => [name, values[at] ?? ''])),
      value: count,
    }));
  }

  #cell(values: readonly string[]): { count: number } {
    const id = values.join('\n');
    let cell = this.#cells.get(id);
    if (!cell) this.#cells.set(id, (cell = { values, count: 0 }));
    return cell;
  }
}

/** All values of closed labels, none when a label is open or there are too many. */
function combinations(rules: LabelRules): readonly (readonly string[])[] {
  let all: readonly (readonly string[])[] = [[]];
  for (const rule of Object.values(rules)) {
    if ('max' in rule) return [];
    all = all.flatMap((before) => rule.map((word) => [...before, word]));
  }
  return all.length > MAX_INITIAL ? [] : all;
}
