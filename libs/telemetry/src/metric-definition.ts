import type { Program } from './program.js';

/** Values of a label that are not listed: how many different ones a program reports before the rest becomes `other`. */
export interface BoundedLabel {
  /** Meaning of the values, for the reference. */
  readonly about: string;
  readonly max: number;
}

/** A closed set of words, or a bounded number of words that the platform itself chose (routes, kinds, controllers). */
export type LabelRule = readonly string[] | BoundedLabel;

/** The labels of a metric by name. */
export type LabelRules = Readonly<Record<string, LabelRule>>;

/** The values to give for the labels of a metric; a wrong name or word does not compile. */
export type LabelValues<L extends LabelRules> = {
  readonly [K in keyof L]: L[K] extends readonly (infer W extends string)[] ? W : string;
};

interface Described<L extends LabelRules> {
  /** Full name, with its unit as Prometheus wants it. */
  readonly name: string;
  /** One sentence for `# HELP` and the reference. */
  readonly help: string;
  readonly labels: L;
  /** Programs that report it. */
  readonly programs: readonly Program[];
}

export interface CounterDefinition<L extends LabelRules = LabelRules> extends Described<L> {
  readonly kind: 'counter';
}

export interface GaugeDefinition<L extends LabelRules = LabelRules> extends Described<L> {
  readonly kind: 'gauge';
  /** Combination of several readers of the same labels. */
  readonly merge: 'sum' | 'max';
}

export interface HistogramDefinition<L extends LabelRules = LabelRules> extends Described<L> {
  readonly kind: 'histogram';
  /** Upper bounds, growing; `+Inf` is added. */
  readonly buckets: readonly number[];
}

export type MetricDefinition<L extends LabelRules = LabelRules> =
  CounterDefinition<L> | GaugeDefinition<L> | HistogramDefinition<L>;

/** Checks each entry without widening its labels. */
export function catalogue<const C extends Readonly<Record<string, MetricDefinition<LabelRules>>>>(
  entries: C,
): C {
  return entries;
}
