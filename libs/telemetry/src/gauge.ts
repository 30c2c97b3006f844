import type { LabelArgument } from './counter.js';
import { LabelGuard } from './label-guard.js';
import type { GaugeDefinition, LabelRules, LabelValues } from './metric-definition.js';
import type { Sample } from './sample.js';

/** One number, or one for each of several labels. */
export type GaugeReading<L extends LabelRules> =
  (keyof L extends never ? number : never) | readonly (readonly [labels: LabelValues<L>, value: number])[];

type Reader<L extends LabelRules> = () => GaugeReading<L> | Promise<GaugeReading<L>>;

/** A number that goes up and down: set when it changes, or read at each scrape. */
export class Gauge<L extends LabelRules = LabelRules> {
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
