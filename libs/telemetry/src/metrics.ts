import { METRICS, type MetricKey } from './catalogue.js';
import { Counter } from './counter.js';
import { Gauge } from './gauge.js';
import { Histogram } from './histogram.js';
import type { MetricDefinition } from './metric-definition.js';

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
