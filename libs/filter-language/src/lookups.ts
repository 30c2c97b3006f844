import type { Filter } from './filter.js';

/**
 * The conditions of a filter that read more than the row of a run: its error, metadata, inputs, outputs and
 * feedback. All conditions on one pair count as one.
 */
export function lookupsOf(filter: Filter): readonly Filter[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.conditions.flatMap(lookupsOf);
    case 'not':
      return lookupsOf(filter.condition);
    case 'compare':
      return filter.field === 'error' ? [filter] : [];
    case 'tag':
      return [];
    case 'pair':
    case 'contains':
    case 'key':
    case 'search':
      return [filter];
    default:
      return filter satisfies never;
  }
}
