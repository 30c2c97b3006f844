import { type MetricKey, METRICS } from './catalogue.js';
import type {
  CounterDefinition,
  GaugeDefinition,
  HistogramDefinition,
  LabelRules,
  LabelValues,
  MetricDefinition,
} from './metric-definition.js';
import type { Sample } from './sample.js';

/** Replacement of a bounded label's value that is one too many, or looks like personal data. */
const OTHER = 'other';
const MAX_CHARS = 120;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;

/** Holds the labels of one metric to their rules at run time: a value from outside must never make a new series. */
export class LabelGuard {
  readonly names: readonly string[];
  readonly #seen = new Map<string, Set<string>>();

  constructor(private readonly rules: LabelRules) {
    this.names = Object.keys(rules);
  }

  /** The values in the order of `names`. */
  values(labels: Readonly<Record<string, string>>): readonly string[] {
    return this.names.map((name) => this.#allowed(name, labels[name] ?? ''));
  }

  #allowed(name: string, value: string): string {
    const rule = this.rules[name];
    if (rule === undefined || !('max' in rule)) return value;
    let seen = this.#seen.get(name);
    if (!seen) this.#seen.set(name, (seen = new Set()));
    if (seen.has(value)) return value;
    if (seen.size >= rule.max || value.length > MAX_CHARS || UUID.test(value)) return OTHER;
    seen.add(value);
    return value;
  }
}

/** One number, or one for each of several labels. */
export type GaugeReading<L extends LabelRules> =
  (keyof L extends never ? number : never) | readonly (readonly [labels: LabelValues<L>, value: number])[];

type Reader<L extends LabelRules> = () => GaugeReading<L> | Promise<GaugeReading<L>>;

/** A number that goes up and down: set when it changes, or read at each scrape. */
class Gauge<L extends LabelRules = LabelRules> {
  readonly #guard: LabelGuard;
  readonly #set = new Map<string, Sample>();
  readonly #readers = new Set<Reader<L>>();

  constructor(readonly definition: GaugeDefinition<L>) {
    this.#guard = new LabelGuard(definition.labels);
  }

  set(value: number, ...[labels]: LabelArgument<L>): void {
    const shown = this.#labels(labels ?? {});
    this.#set.set(JSON.stringify(shown), { labels: shown, value });
  }

  /** Reads at each scrape from now on; a reader that fails leaves its samples out. @returns ends it */
  read(reader: Reader<L>): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  async samples(): Promise<readonly Sample[]> {
    const merged = new Map(this.#set);
    const readings = await Promise.allSettled([...this.#readers].map(async (reader) => reader()));
    for (const reading of readings) {
      if (reading.status === 'rejected') continue;
      const pairs = typeof reading.value === 'number' ? [[{}, reading.value] as const] : reading.value;
      for (const [labels, value] of pairs) this.#merge(merged, this.#labels(labels), value);
    }
    return [...merged.values()];
  }

  #merge(merged: Map<string, Sample>, labels: Sample['labels'], value: number): void {
    const id = JSON.stringify(labels);
    const before = merged.get(id)?.value;
    const both = this.definition.merge === 'sum' ? (before ?? 0) + value : Math.max(before ?? value, value);
    merged.set(id, { labels, value: both });
  }

  #labels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const values = this.#guard.values(labels);
    return Object.fromEntries(this.#guard.names.map((name, at) => [name, values[at] ?? '']));
  }
}

interface Cell {
  readonly labels: Readonly<Record<string, string>>;
  /** Counts of each bucket alone; the last is above all bounds. */
  readonly counts: number[];
  sum: number;
}

/** Number of values under each bound. */
class Histogram<L extends LabelRules = LabelRules> {
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

/** Maximum number of combinations that are shown before they happen. */
const MAX_INITIAL = 40;

/** Labels as an argument: none for a metric without any. */
type LabelArgument<L extends LabelRules> = keyof L extends never ? [] : [labels: LabelValues<L>];

/**
 * A number that only grows. Closed label sets begin at 0 from the start, so that a rate sees the first
 * increase.
 */
class Counter<L extends LabelRules = LabelRules> {
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

type Instrument<D extends MetricDefinition> = D['kind'] extends 'counter'
  ? Counter<D['labels']>
  : D['kind'] extends 'gauge'
    ? Gauge<D['labels']>
    : Histogram<D['labels']>;

/** One instrument for each entry of the catalogue. */
export type Metrics = { readonly [K in MetricKey]: Instrument<(typeof METRICS)[K]> };

function instrumentOf(definition: MetricDefinition): Counter | Gauge | Histogram {
  switch (definition.kind) {
    case 'counter':
      return new Counter(definition);
    case 'gauge':
      return new Gauge(definition);
    case 'histogram':
      return new Histogram(definition);
    default:
      return definition satisfies never;
  }
}

function build(): Metrics {
  const entries = Object.entries(METRICS).map(([key, definition]) => [key, instrumentOf(definition)]);
  // each key's instrument follows from its own definition, which `fromEntries` cannot express
  return Object.fromEntries(entries) as Metrics;
}

/**
 * The instruments of this process: `metrics.ingestBytes.add(bytes)`. Plain numbers in memory, so that counting costs some
 * tens of nanoseconds and nothing has to be handed through constructors; they leave the process only by a scrape.
 */
export const metrics: Metrics = build();
