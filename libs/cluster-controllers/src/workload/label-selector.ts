import type { LabelSelector } from '#lib/resources';

type Labels = Readonly<Record<string, string>> | undefined;

/** Whether labels fulfil a selector. An empty selector matches nothing here: a workload must not own the whole namespace. */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  const matchLabels = Object.entries(selector?.matchLabels ?? {});
  const expressions = selector?.matchExpressions ?? [];
  if (matchLabels.length === 0 && expressions.length === 0) return false;
  return (
    matchLabels.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => {
      const value = labels[expression.key];
      switch (expression.operator) {
        case 'In':
          return value !== undefined && (expression.values ?? []).includes(value);
        case 'NotIn':
          return value === undefined || !(expression.values ?? []).includes(value);
        case 'Exists':
          return value !== undefined;
        case 'DoesNotExist':
          return value === undefined;
        default:
          expression.operator satisfies never;
          return false;
      }
    })
  );
}
