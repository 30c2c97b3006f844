/** Limits of a tenant's feedback. Statistics of a run read all of its feedback. */
export const FEEDBACK_LIMITS = Object.freeze({
  /** Feedback of a run, and of a project itself. */
  ofOne: 1_000,
  /** Feedback of a tenant for runs that have not arrived. */
  waiting: 10_000,
  /** Usable tokens of a run. */
  tokens: 100,
  /** Usable tokens of a tenant for runs that have not arrived. */
  tokensWaiting: 10_000,
  /** Configurations of a tenant. */
  configs: 1_000,
  /** Maximum score: beyond it a sum of squares could overflow. */
  score: 1e15,
});

/** Time that feedback waits for its run; the same as for updates. */
export const LONGEST_FEEDBACK_WAIT = '1 day';
