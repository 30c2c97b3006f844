import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { COMPONENT } from '#lib/resources';
import { repository } from '../support/platform.js';
import { checkExpression } from './check-expression.js';
import { exportedSeries } from './exported-series.js';
import { parsePromql } from './promql.js';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const chart = join(repository, 'charts', 'agentplane');
const alerts = parse(readFileSync(join(chart, 'files', 'alerts.yaml'), 'utf8')) as readonly Alert[];

describe('alerts of the chart', () => {
  it('finds them', () => {
    expect(alerts.length).toBeGreaterThan(8);
  });

  it.each(alerts)('$alert asks for series and labels that programs serve', async ({ expr }) => {
    expect(checkExpression(expr, await exportedSeries())).toEqual([]);
  });

  it.each(alerts)('$alert shows labels that its series have', async ({ expr, annotations }) => {
    const series = await exportedSeries();
    const known = parsePromql(expr).selectors.flatMap(({ metric }) => [
      ...(series.get(metric)?.keys() ?? []),
    ]);
    const text = Object.values(annotations).join(' ');
    for (const [, label] of text.matchAll(/\$labels\.(\w+)/g)) expect(known).toContain(label);
  });

  it.each([
    ['sum(rate(agentplane_ingest_bytes_total[5m])', /^not PromQL at /],
    ['rates(agentplane_ingest_bytes_total[5m])', /^not PromQL at /],
  ])('refuses %s, which is not PromQL', (expr, message) => {
    expect(() => parsePromql(expr)).toThrow(message);
  });

  it.each([
    ['agentplane_misspelt_total > 0', 'no program serves agentplane_misspelt_total'],
    ['agentplane_leader{program="x"} > 0', 'agentplane_leader has no label program'],
    ['agentplane_leader{container="x"} > 0', 'container of agentplane_leader is never x'],
    ['sum by (shade) (agentplane_leader) > 0', 'groups by shade, which nothing has'],
    ['vector(1)', 'asks for no series'],
  ])('refuses %s', async (expr, problem) => {
    expect(checkExpression(expr, await exportedSeries())).toEqual([problem]);
  });

  it('selects pods of every component that serves metrics', () => {
    const text = readFileSync(join(chart, 'templates', 'monitoring.yaml'), 'utf8');
    const [, list = ''] = /component, operator: In, values: \[([^\]]*)\]/.exec(text) ?? [];
    const selected = list.split(/,\s*/).sort();
    // a Postgres serves none
    const made = Object.values(COMPONENT).filter((one) => one !== COMPONENT.agentDatabase);
    expect(selected).toEqual([...new Set([...made, 'api', 'controller', 'export-worker'])].sort());
  });
});
