import { type SeriesLabels } from './exported-series.js';
import { parsePromql } from './promql.js';

/**
 * What is wrong with an expression: series, labels and values that no program serves.
 * @param variable whether a value is one that a dashboard fills in
 */
export function checkExpression(
  expr: string,
  series: ReadonlyMap<string, SeriesLabels>,
  variable: (value: string) => boolean = () => false,
): readonly string[] {
  const { selectors, grouping } = parsePromql(expr);
  const problems: string[] = selectors.length === 0 ? ['asks for no series'] : [];
  const known = new Set<string>();
  for (const { metric, matchers } of selectors) {
    const labels = series.get(metric);
    if (!labels) {
      problems.push(`no program serves ${metric}`);
      continue;
    }
    for (const label of labels.keys()) known.add(label);
    for (const { label, value } of matchers) {
      if (!labels.has(label)) problems.push(`${metric} has no label ${label}`);
      const values = labels.get(label);
      if (values && !variable(value) && !values.includes(value))
        problems.push(`${label} of ${metric} is never ${value}`);
    }
  }
  return [
    ...problems,
    ...grouping.filter((label) => !known.has(label)).map((label) => `groups by ${label}, which nothing has`),
  ];
}
