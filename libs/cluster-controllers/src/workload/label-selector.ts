import { fulfilsSelector, type LabelSelector } from '#lib/resources';

type Labels = Readonly<Record<string, string>> | undefined;

/**
 * True when labels fulfil a selector. An empty selector matches nothing here: a workload must not own the
 * whole namespace.
 */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  const isEmpty =
    Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0;
  return selector !== undefined && !isEmpty && fulfilsSelector(selector, labels);
}
