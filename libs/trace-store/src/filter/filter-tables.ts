/** Tables and columns that filters read, beside the columns of `runs` themselves. */
export const FILTER_TABLES = Object.freeze({
  runs: 'runs',
  payloads: 'run_payloads',
  keys: 'run_keys',
  pairs: 'run_pairs',
  feedback: 'feedback',
});

/** `kind` of `run_pairs`. */
export const METADATA = 1;

/**
 * Keeps a subquery one look by key for each run. Without it the planner makes a join of it, and before the first ANALYZE
 * of a new day, when it believes in one row, a join that goes through all rows of the day for each run: 7 s for 80 runs.
 */
export const FENCE = 'OFFSET 0';
