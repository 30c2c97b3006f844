/** The filters of trace queries and exports: parsed and checked. docs/design/filter-language.md */
export {
  FIELD_NAMES,
  FIELD_TYPES,
  fieldRow,
  OPERATORS,
  operatorsOf,
  type PairFamily,
  type PairField,
  type RunField,
  type SearchField,
} from './fields.js';
export { type Comparison, type Filter, lookupsOf, type Operand, type PairCondition } from './filter.js';
export { FilterError } from './filter-error.js';
export { findFilterProblem, parseFilter } from './parse-filter.js';
export { FILTER_LIMITS } from './limits.js';
export { foldCase, jsonSearch } from './search-forms.js';
