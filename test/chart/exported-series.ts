import { METRICS, renderMetrics } from '#lib/telemetry';

/** What a PodMonitor adds to each series. */
const OF_SCRAPER = ['container', 'namespace', 'pod'];
/** Containers that the chart and the listeners make. */
const CONTAINERS = ['api', 'controller', 'listener', 'export-worker'];

type Values = readonly string[] | undefined;

/** The labels of one series; of a label with a closed set of values, these. */
export type SeriesLabels = ReadonlyMap<string, Values>;

const scraped: readonly (readonly [string, Values])[] = OF_SCRAPER.map((label) => [
  label,
  label === 'container' ? CONTAINERS : undefined,
]);

/** Every series that programs serve, by its name: those of the catalogue, and the process's own. */
export async function exportedSeries(): Promise<ReadonlyMap<string, SeriesLabels>> {
  const series = new Map<string, SeriesLabels>();
  const { text } = await renderMetrics('api');
  for (const [, name = ''] of text.matchAll(/^# TYPE ((?:process|nodejs)_\w+) (?:gauge|counter)$/gm))
    series.set(name, new Map(scraped));
  for (const { kind, name, labels } of Object.values(METRICS)) {
    const own = Object.entries(labels).map(([label, rule]): readonly [string, Values] => [
      label,
      Array.isArray(rule) ? rule.map(String) : undefined,
    ]);
    for (const end of kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''])
      series.set(
        `${name}${end}`,
        new Map([...own, ...scraped, ...(end === '_bucket' ? [['le', undefined] as const] : [])]),
      );
  }
  return series;
}
