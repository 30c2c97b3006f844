import { FilterError } from './filter-error.js';
import { parseFilter } from './parse-filter.js';

/** What is wrong with a filter, for those who keep its text. */
export function findFilterProblem(text: string): FilterError | undefined {
  try {
    parseFilter(text);
    return undefined;
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
}
