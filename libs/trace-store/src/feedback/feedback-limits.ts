/** What a tenant may store. Statistics of a run read all of its feedback. */
export const FEEDBACK_LIMITS = Object.freeze({
  /** Of a run, and of a project itself. */
  ofOne: 1_000,
  /** Of a tenant, for runs that have not arrived. */
  waiting: 10_000,
  /** Of a run, that may be used. */
  tokens: 100,
  /** Of a tenant, that may be used for runs that have not arrived. */
  tokensWaiting: 10_000,
  /** Configurations of a tenant. */
  configs: 1_000,
  /** Beyond it a sum of squares could leave the numbers. */
  score: 1e15,
});

/** As long as updates wait. */
export const LONGEST_FEEDBACK_WAIT = '1 day';
