/** Result of a comparison. */
export interface Findings {
  /** A sentence for each. */
  readonly differences: readonly string[];
  /** Parts that could not be compared, and why; a sentence for each. */
  readonly notCompared: readonly string[];
}
