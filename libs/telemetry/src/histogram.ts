import type { LabelArgument } from './counter.js';
import { LabelGuard } from './label-guard.js';
import type { HistogramDefinition, LabelRules } from './metric-definition.js';
import type { Sample } from './sample.js';

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  /** Counts of each bucket alone; the last is above all bounds. */
  readonly counts: number[];
  sum: number;
}

/** Number of values under each bound. */
export class Histogram<L extends LabelRules = LabelRules> {
  readonly #guard: LabelGuard;
  readonly #cells = new Map<string, Cell>();

  constructor(readonly definition: HistogramDefinition<L>) {
    this.#guard = new LabelGuard(definition.labels);
    if (this.#guard.names.length === 0) this.#cell([]);
  }

  /** @param value in the unit of the metric's name */
  observe(value: number, ...[labels]: LabelArgument<L>): void {
    const cell = this.#cell(this.#guard.values(labels ?? {}));
    const { buckets } = this.definition;
    let at = 0;
    while (value > (buckets[at] ?? Infinity)) at++;
    cell.counts[at] = (cell.counts[at] ?? 0) + 1;
    cell.sum += value;
  }

  samples(): readonly Sample[] {
    return [...this.#cells.values()].flatMap((cell) => this.#samplesOf(cell));
  }

  #samplesOf({ labels, counts, sum }: Cell): readonly Sample[] {
    const { name, buckets } = this.definition;
    let below = 0;
    const bounds = [...buckets, '+Inf' as const].map((le, at) => {
      below += counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: below };
    });
    return [
      ...bounds,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: below },
    ];
  }

  #cell(values: readonly string[]): Cell {
    const id = values.join('\n');
    let cell = this.#cells.get(id);
    if (!cell) {
      const labels = Object.fromEntries(this.#guard.names.map((name, at) => [name, values[at] ?? '']));
      this.#cells.set(
        id,
        (cell = { labels, counts: this.definition.buckets.map(() => 0).concat(0), sum: 0 }),
      );
    }
    return cell;
  }
}
