/** Tables and columns that filters look at, beside the columns of `runs` themselves. */
export const FILTER_TABLES = Object.freeze({
  runs: 'runs',
  payloads: 'run_payloads',
  keys: 'run_keys',
  pairs: 'run_pairs',
  feedback: 'feedback',
});

/** `kind` of `run_pairs`. */
export const PAIR_KINDS = Object.freeze({ metadata: 1, input: 2, output: 3 });
