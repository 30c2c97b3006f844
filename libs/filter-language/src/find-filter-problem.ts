import { FilterError } from './filter-error.js';
import { parseFilter } from './parse-filter.js';

/** The problem of a filter, for programs that keep its text. */
export function findFilterProblem(text: string): FilterError | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}
