import { describe, expect, it } from '@jest/globals';
import { METRICS } from './catalogue.js';
import type { MetricDefinition } from './metric-definition.js';

const all: readonly MetricDefinition[] = Object.values(METRICS);

describe('the catalogue of metrics', () => {
  it('names every metric once', () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  it.each(all.map((metric) => [metric.name, metric] as const))(
    'keeps the conventions of Prometheus in %s',
    (name, metric) => {
      expect(name).toMatch(/^agentplane_[a-z]+(_[a-z]+)*$/);
      expect(name.endsWith('_total')).toBe(metric.kind === 'counter');
      expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|count|sum|bucket)(_total)?$/);
      if (metric.kind === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
      expect(metric.help).toMatch(/^[A-Z0-9].*\.$/);
      expect(metric.programs.length).toBeGreaterThan(0);
      for (const label of Object.keys(metric.labels)) {
        expect(label).toMatch(/^[a-z]+(_[a-z]+)*$/);
        expect(label).not.toMatch(
          /tenant|user|workspace|namespace|deployment|project|key|uid|^id$|^name$|^le$/,
        );
      }
    },
  );

  it('lists the bounds of every histogram in growing order', () => {
    for (const metric of all)
      if (metric.kind === 'histogram')
        expect([...metric.buckets]).toEqual([...new Set(metric.buckets)].sort((one, other) => one - other));
  });
});
