import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { COMPONENT } from '#lib/resources';
import { METRICS } from '#lib/telemetry';
import { repository } from '../support/platform.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const chart = join(repository, 'charts', 'agentplane');
const alerts = parse(readFileSync(join(chart, 'files', 'alerts.yaml'), 'utf8')) as readonly Alert[];
/** What a PodMonitor adds to each series. */
const OF_SCRAPER = ['container', 'namespace', 'pod'];

/** The labels of each series that a program serves, by its name. */
const series = new Map(
  Object.values(METRICS).flatMap(({ kind, name, labels }) =>
    (kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map((end): [string, readonly string[]] => [
      `${name}${end}`,
      [...Object.keys(labels), ...OF_SCRAPER, ...(end === '_bucket' ? ['le'] : [])],
    ]),
  ),
);
/** What labels with a closed set of values may say. */
const values = new Map(
  Object.values(METRICS).flatMap(({ labels }) =>
    Object.entries(labels).flatMap(([label, rule]) =>
      Array.isArray(rule) ? rule.map((value): [string, true] => [`${label}=${String(value)}`, true]) : [],
    ),
  ),
);

describe('alerts of the chart', () => {
  it('finds them', () => {
    expect(alerts.length).toBeGreaterThan(8);
  });

  it.each(alerts)('$alert asks for series and labels that programs serve', ({ expr, annotations }) => {
    const used = [...expr.matchAll(/(agentplane_\w+)(?:\{([^}]*)\})?/g)];
    expect(used.length).toBeGreaterThan(0);
    const known = new Set<string>();
    for (const [, name = '', matchers = ''] of used) {
      expect([name, series.has(name)]).toEqual([name, true]);
      for (const label of series.get(name) ?? []) known.add(label);
      for (const [, label = '', value = ''] of matchers.matchAll(/(\w+)[!=~]+"([^"]*)"/g)) {
        expect(series.get(name)).toContain(label);
        const isOfProgram = OF_SCRAPER.includes(label)
          ? value === 'controller'
          : values.has(`${label}=${value}`);
        expect([label, value, isOfProgram]).toEqual([label, value, true]);
      }
    }
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
    const shown = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label]) => label);
    for (const label of [...grouped, ...shown]) expect([...known]).toContain(label);
  });

  it('selects pods of every component', () => {
    const text = readFileSync(join(chart, 'templates', 'monitoring.yaml'), 'utf8');
    const [, list = ''] = /component, operator: In, values: \[([^\]]*)\]/.exec(text) ?? [];
    const selected = list.split(/,\s*/).sort();
    const made = Object.values(COMPONENT);
    expect(selected).toEqual([...new Set([...made, 'api', 'controller', 'export-worker'])].sort());
  });
});
