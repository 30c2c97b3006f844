import { createRequire } from 'node:module';
import type * as prom from 'prom-client';
import { METRICS, type MetricKey } from './catalogue.js';
import { metrics } from './metrics.js';
import type { Program } from './program.js';
import type { Sample } from './sample.js';

/** Answer to a scraper. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/**
 * prom-client's process metrics by the names of their files. Missing on purpose: `eventLoopLag`, whose timer of 10 ms costs
 * an idle program 0.4 % of a core, and `gc`, whose observer sees every young collection. The CPU time is read here, since
 * theirs counts from the first scrape.
 */
const PROCESS_METRICS = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'heapSizeAndUsed',
  'version',
];

/** A metric as a registry of prom-client asks for it. */
interface Collected {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly values: readonly Sample[];
  readonly aggregator: string;
}

/** Interface that a registry of prom-client reads values from; its own type names its own classes. */
interface Collector {
  readonly name: string;
  readonly get: () => Promise<Collected>;
}

/** The part of prom-client's registry that is used. */
interface Registry extends Pick<prom.Registry, 'contentType' | 'metrics' | 'getMetricsAsJSON'> {
  registerMetric(metric: Collector): void;
}

let registry: Promise<Registry> | undefined;

/**
 * The metrics of this process in the text format of Prometheus. prom-client is loaded by the first scrape: a program
 * without a scraper saves its 3 MB.
 */
export async function renderMetrics(program: Program): Promise<Exposition> {
  const opened = await registryOf(program);
  return { contentType: opened.contentType, text: await opened.metrics() };
}

/** The same numbers as JSON: a list of metrics with name, help, type and values. */
export async function renderMetricsJson(program: Program): Promise<Exposition> {
  const opened = await registryOf(program);
  return { contentType: 'application/json', text: JSON.stringify(await opened.getMetricsAsJSON()) };
}

function registryOf(program: Program): Promise<Registry> {
  registry ??= Promise.resolve(openRegistry(program));
  return registry;
}

function openRegistry(program: Program): Registry {
  const load = createRequire(import.meta.url);
  // not by its entry: that loads clustering, a push gateway and another library, twice the memory
  const Opened = load('prom-client/lib/registry.js') as new () => Registry;
  const opened = new Opened();
  for (const name of PROCESS_METRICS) {
    const collect = load(`prom-client/lib/metrics/${name}.js`) as (
      registry: Registry,
      options: object,
    ) => void;
    collect(opened, {});
  }
  register(
    opened,
    'process_cpu_user_seconds_total',
    'Total user CPU time spent in seconds.',
    'counter',
    () => [{ labels: {}, value: process.cpuUsage().user / 1e6 }],
  );
  register(
    opened,
    'process_cpu_system_seconds_total',
    'Total system CPU time spent in seconds.',
    'counter',
    () => [{ labels: {}, value: process.cpuUsage().system / 1e6 }],
  );
  register(
    opened,
    'process_cpu_seconds_total',
    'Total user and system CPU time spent in seconds.',
    'counter',
    () => {
      const { user, system } = process.cpuUsage();
      return [{ labels: {}, value: (user + system) / 1e6 }];
    },
  );
  // the keys of the catalogue
  for (const key of Object.keys(METRICS) as MetricKey[]) {
    const { name, help, kind, programs } = METRICS[key];
    const reports: readonly Program[] = programs;
    if (reports.includes(program)) register(opened, name, help, kind, () => metrics[key].samples());
  }
  return opened;
}

function register(
  opened: Registry,
  name: string,
  help: string,
  type: string,
  samples: () => readonly Sample[] | Promise<readonly Sample[]>,
): void {
  opened.registerMetric({
    name,
    get: async () => ({ name, help, type, values: await samples(), aggregator: 'sum' }),
  });
}
