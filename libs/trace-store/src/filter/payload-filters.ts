import { type Filter, lookupsOf, type SearchField } from '#lib/filter-language';
import { PAYLOAD_FIELDS, type PayloadField } from '../run/stored-run.js';

/** The filters of a query: of the run itself, of the root of its trace, of any run of its trace. All must hold. */
export interface RunFilters {
  readonly filter?: Filter | undefined;
  readonly traceFilter?: Filter | undefined;
  readonly treeFilter?: Filter | undefined;
}

/** The payload that each field of a search is in; the others are columns of the run. */
const SEARCHED: Readonly<Partial<Record<SearchField, PayloadField>>> = {
  error: 'error',
  inputs: 'inputs',
  outputs: 'outputs',
  metadata: 'extra',
};

/** Payloads that a look-up of a filter reads. */
function payloadsOfLookup(lookup: Filter): readonly PayloadField[] {
  switch (lookup.kind) {
    case 'pair':
      if (lookup.family === 'input') return ['inputs'];
      return lookup.family === 'output' ? ['outputs'] : [];
    case 'search':
      return lookup.fields.flatMap((field) => SEARCHED[field] ?? []);
    case 'contains':
    case 'key':
      return ['extra'];
    case 'compare':
      return lookup.field === 'error' ? ['error'] : [];
    case 'and':
    case 'or':
    case 'not':
    case 'tag':
      return [];
    default:
      return lookup satisfies never;
  }
}

/** Payloads that the SQL of filters reads, of the run itself or of others of its trace. */
export function payloadsOf({ filter, traceFilter, treeFilter }: RunFilters = {}): readonly PayloadField[] {
  const lookups = [filter, traceFilter, treeFilter].flatMap((one) => (one ? lookupsOf(one) : []));
  const found = new Set(lookups.flatMap(payloadsOfLookup));
  return PAYLOAD_FIELDS.filter((field) => found.has(field));
}

/**
 * The conditions of a filter that read no payloads: every run that meets the filter meets these.
 * @returns undefined when nothing is left
 */
function lightFilter(filter: Filter): Filter | undefined {
  if (payloadsOf({ filter }).length === 0) return filter;
  if (filter.kind !== 'and') return undefined;
  const conditions = filter.conditions.flatMap((each) => lightFilter(each) ?? []);
  return conditions.length === 0 ? undefined : { ...filter, conditions };
}

/** The same of all filters of a query. */
export function lightFilters({ filter, traceFilter, treeFilter }: RunFilters = {}): RunFilters {
  return {
    filter: filter && lightFilter(filter),
    traceFilter: traceFilter && lightFilter(traceFilter),
    treeFilter: treeFilter && lightFilter(treeFilter),
  };
}
