import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/platform.js';
import { checkExpression } from './check-expression.js';
import { exportedSeries } from './exported-series.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[];
  };
  readonly panels: readonly Panel[];
}

const file = join(repository, 'charts', 'agentplane', 'files', 'dashboard.json');
const dashboard = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
const { panels } = dashboard;
const queries = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })));
/** Grafana fills it in before Prometheus reads the expression. */
const filledIn = (expr: string): string => expr.replaceAll('$__rate_interval', '5m');
const isVariable = (value: string): boolean => value.startsWith('$');

describe('dashboard of the chart', () => {
  it('has panels for every part of the platform', () => {
    const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual([
      'Platform',
      'REST interface',
      'Traces',
      'Reconciling',
      'Exports',
      'Agents in $namespace',
      'Processes',
    ]);
    expect(queries.length).toBeGreaterThan(30);
  });

  it.each(queries)('$title asks for series and labels that programs serve: $expr', async ({ expr }) => {
    expect(checkExpression(filledIn(expr), await exportedSeries(), isVariable)).toEqual([]);
  });

  it.each(queries)('$title names its lines by labels that it groups by: $legendFormat', (query) => {
    for (const [, label = ''] of query.legendFormat.matchAll(/\{\{(\w+)\}\}/g))
      expect(query.expr).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`));
  });

  it('asks the chosen Prometheus, by variables that are declared', () => {
    const declared = dashboard.templating.list.map(({ name }) => `$${name}`);
    const used = new Set(queries.flatMap(({ expr }) => filledIn(expr).match(/\$\w+/g) ?? []));
    for (const name of used) expect(declared).toContain(name);
    for (const { type, datasource } of panels)
      if (type !== 'row') expect(datasource?.uid).toBe('${datasource}');
  });

  it('offers the namespaces of a series that agents serve', async () => {
    const { query } = dashboard.templating.list.find(({ name }) => name === 'namespace') ?? {};
    const text = typeof query === 'object' ? query.query : '';
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(text) ?? [];
    expect([...((await exportedSeries()).get(metric)?.keys() ?? [])]).toContain(label);
  });

  it('gives each panel an id and a place of its own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});
