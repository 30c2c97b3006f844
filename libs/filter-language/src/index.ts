/** The filters of trace queries and exports: parsed, checked, and applied to runs in memory. docs/design/filter-language.md */
export { evaluateFilter } from './evaluation/evaluate-filter.js';
export type { FilterablePair, FilterableRun } from './evaluation/filterable-run.js';
export {
  FIELD_NAMES,
  FIELD_TYPES,
  fieldRow,
  operatorsOf,
  type PairFamily,
  type PairField,
  type RunField,
  type SearchField,
} from './fields.js';
export type { Comparison, Filter, Operand, PairCondition } from './filter.js';
export { FilterError } from './filter-error.js';
export { findFilterProblem } from './find-filter-problem.js';
export { FILTER_LIMITS } from './limits.js';
export { OPERATORS } from './operators.js';
export { lookupsOf } from './lookups.js';
export { parseFilter } from './parse-filter.js';
export { jsonSearch } from './search-forms.js';
